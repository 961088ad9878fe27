//! The C data interface of Apache Arrow, for what planopt exports: tables of numbers without
//! nulls, whose columns stay where they are (<https://arrow.apache.org/docs/format/CDataInterface.html>).
#![allow(
    unsafe_code,
    reason = "an interface between languages is made of pointers; all of them are here"
)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

use planopt_core::bulk::Table;

/// A column of 64-bit unsigned numbers, of 64-bit real numbers, and a table, as formats.
const UNSIGNED: &CStr = c"L";
const REAL: &CStr = c"g";
const STRUCT: &CStr = c"+s";

/// `struct ArrowSchema`.
#[repr(C)]
pub(crate) struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private_data: *mut c_void,
}

/// `struct ArrowArray`.
#[repr(C)]
pub(crate) struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private_data: *mut c_void,
}

/// `struct ArrowArrayStream`.
#[repr(C)]
pub(crate) struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private_data: *mut c_void,
}

// SAFETY: what they point to is theirs alone, or shared and never changed.
unsafe impl Send for Schema {}
// SAFETY: as above.
unsafe impl Send for Array {}
// SAFETY: as above.
unsafe impl Send for Stream {}

/// What a schema points to.
struct SchemaParts {
    name: CString,
    children: Vec<Schema>,
    pointers: Vec<*mut Schema>,
}

/// What an array points to; the table stays as long as any of its columns is in use.
struct ArrayParts {
    _table: Arc<Table>,
    buffers: Vec<*const c_void>,
    children: Vec<Array>,
    pointers: Vec<*mut Array>,
}

/// A stream of one batch.
struct StreamParts {
    table: Arc<Table>,
    done: bool,
}

impl Schema {
    /// Of a table: the index of each candidate, and its metrics.
    pub(crate) fn of(table: &Table) -> Self {
        let metrics = table.names.iter().map(|name| Self::new(REAL, name, vec![]));
        let indices = Self::new(UNSIGNED, "index", vec![]);
        let columns = std::iter::once(indices).chain(metrics);
        Self::new(STRUCT, "", columns.collect())
    }

    fn new(format: &'static CStr, name: &str, children: Vec<Self>) -> Self {
        let mut parts = Box::new(SchemaParts {
            // Names of metrics are those of fields of a struct, without a zero.
            name: CString::new(name).unwrap_or_default(),
            children,
            pointers: Vec::new(),
        });
        parts.pointers = parts.children.iter_mut().map(ptr::from_mut).collect();
        Self {
            format: format.as_ptr(),
            name: parts.name.as_ptr(),
            metadata: ptr::null(),
            flags: 0,
            n_children: count(&parts.pointers),
            children: parts.pointers.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_schema),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

impl Array {
    /// Of a table, whose columns are not copied.
    pub(crate) fn of(table: &Arc<Table>) -> Self {
        let indices = Self::column(table, table.indices.as_ptr().cast());
        let metrics = table
            .columns
            .iter()
            .map(|column| Self::column(table, column.as_ptr().cast()));
        let columns = std::iter::once(indices).chain(metrics);
        Self::new(table, vec![ptr::null()], columns.collect())
    }

    /// Without nulls there is no buffer of validity.
    fn column(table: &Arc<Table>, data: *const c_void) -> Self {
        Self::new(table, vec![ptr::null(), data], vec![])
    }

    fn new(table: &Arc<Table>, buffers: Vec<*const c_void>, children: Vec<Self>) -> Self {
        let mut parts = Box::new(ArrayParts {
            _table: Arc::clone(table),
            buffers,
            children,
            pointers: Vec::new(),
        });
        parts.pointers = parts.children.iter_mut().map(ptr::from_mut).collect();
        Self {
            length: count(&table.indices),
            null_count: 0,
            offset: 0,
            n_buffers: count(&parts.buffers),
            n_children: count(&parts.pointers),
            buffers: parts.buffers.as_mut_ptr(),
            children: parts.pointers.as_mut_ptr(),
            dictionary: ptr::null_mut(),
            release: Some(release_array),
            private_data: Box::into_raw(parts).cast(),
        }
    }

    /// What ends a stream.
    fn none() -> Self {
        Self {
            length: 0,
            null_count: 0,
            offset: 0,
            n_buffers: 0,
            n_children: 0,
            buffers: ptr::null_mut(),
            children: ptr::null_mut(),
            dictionary: ptr::null_mut(),
            release: None,
            private_data: ptr::null_mut(),
        }
    }
}

impl Stream {
    /// Of a table, in one batch.
    pub(crate) fn of(table: &Arc<Table>) -> Self {
        let parts = Box::new(StreamParts {
            table: Arc::clone(table),
            done: false,
        });
        Self {
            get_schema: Some(get_schema),
            get_next: Some(get_next),
            get_last_error: Some(get_last_error),
            release: Some(release_stream),
            private_data: Box::into_raw(parts).cast(),
        }
    }
}

/// What a list in memory holds is below 2^63.
fn count<T>(list: &[T]) -> i64 {
    i64::try_from(list.len()).unwrap_or(i64::MAX)
}

/// What nobody took over is released by who made it.
macro_rules! released_when_dropped {
    ($($kind:ty),+) => {$(
        impl Drop for $kind {
            fn drop(&mut self) {
                if let Some(release) = self.release {
                    // SAFETY: it is released once: releasing takes the function away.
                    unsafe { release(self) }
                }
            }
        }
    )+};
}
released_when_dropped!(Schema, Array, Stream);

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: a consumer hands back what `Schema::new` made, once.
    unsafe {
        drop(Box::from_raw((*schema).private_data.cast::<SchemaParts>()));
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: a consumer hands back what `Array::new` made, once.
    unsafe {
        drop(Box::from_raw((*array).private_data.cast::<ArrayParts>()));
        (*array).release = None;
    }
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: a consumer hands back what `Stream::of` made, once.
    unsafe {
        drop(Box::from_raw((*stream).private_data.cast::<StreamParts>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: the stream is one of ours that is not released, and `out` can be written to.
    unsafe {
        let parts = &*(*stream).private_data.cast::<StreamParts>();
        ptr::write(out, Schema::of(&parts.table));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: as for the schema.
    unsafe {
        let parts = &mut *(*stream).private_data.cast::<StreamParts>();
        let next = if parts.done {
            Array::none()
        } else {
            Array::of(&parts.table)
        };
        parts.done = true;
        ptr::write(out, next);
    }
    0
}

unsafe extern "C" fn get_last_error(_stream: *mut Stream) -> *const c_char {
    ptr::null()
}
