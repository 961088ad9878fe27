//! What the images of a prompt become: tokens, by the model's own rule or as it is said.

use serde_json::{Map, Value};

use super::reader::Reader;
use super::request::Workload;
use crate::catalog::Catalog;
use crate::diagnostic::code;
use crate::quantity::real;
use crate::request::ServedModel;

/// What says it where the model does not.
const SAID: [&str; 3] = ["image_tokens", "encoder_parameters", "patches_per_token"];

/// Pixels of a side of an image, at most.
const MOST_PIXELS: u64 = 1 << 16;

/// What the images of a prompt become; nothing where it has none.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Images {
    pub(super) tokens: u64,
    patches: u64,
    /// Parameters of what encodes them.
    parameters: Option<f64>,
}

impl Images {
    /// By the model's own rule, or as it is said.
    pub(super) fn of(
        reader: &mut Reader,
        catalog: &Catalog,
        model: &ServedModel,
        workload: &Workload,
    ) -> Self {
        let is_seen = reader.is_given("images") || reader.is_given("image_size");
        let is_said = SAID.iter().any(|name| reader.is_given(name));
        if reader.is_given("traffic") && (is_seen || is_said) {
            let option = if is_seen { "images" } else { "image_tokens" };
            let message = "--traffic says how long prompts are, with all that is in them";
            reader.wrong(code::CONTRADICTION, option, message, "one of the two");
            return Self::default();
        }
        let images = if is_seen {
            seen(reader, catalog, &model.name, workload)
        } else if is_said {
            said(reader, model, workload)
        } else {
            None
        };
        images.unwrap_or_default()
    }

    /// The model behind what encodes them.
    pub(super) fn before(self, model: ServedModel) -> ServedModel {
        ServedModel {
            image_tokens: self.parameters.map(|_| self.tokens),
            image_patches: self.parameters.map(|_| real(self.patches)),
            encoder_parameters: self.parameters,
            ..model
        }
    }

    /// As a question records them.
    pub(super) fn record(self, recorded: &mut Map<String, Value>) {
        if let Some(parameters) = self.parameters {
            for (name, value) in [
                ("image_tokens", self.tokens.into()),
                ("image_patches", real(self.patches).into()),
                ("encoder_parameters", parameters.into()),
            ] {
                recorded.insert(name.to_owned(), value);
            }
        }
    }
}

fn said(reader: &mut Reader, model: &ServedModel, workload: &Workload) -> Option<Images> {
    for (name, accepted) in [
        (
            "image_tokens",
            "tokens that the images of a prompt become, such as 1024",
        ),
        (
            "encoder_parameters",
            "parameters of what encodes them, such as 0.6B",
        ),
    ] {
        if !reader.is_given(name) {
            let message = "images are tokens of a prompt and an encoder that makes them";
            reader.wrong(code::MISSING_OPTION, name, message, accepted);
        }
    }
    let tokens = workload.image_tokens?;
    let each = workload.patches_per_token.unwrap_or(0);
    if !reader.is_given("patches_per_token") {
        reader.assume("patches of a token of an image", each.to_string(), None);
    }
    Some(Images {
        tokens,
        patches: tokens.saturating_mul(each),
        parameters: model.encoder_parameters,
    })
}

/// What so many images of a size become by the rule of the model.
fn seen(
    reader: &mut Reader,
    catalog: &Catalog,
    model: &str,
    workload: &Workload,
) -> Option<Images> {
    let Some(images) = workload.images else {
        let message = "how large an image is says nothing without how many there are";
        let accepted = "how many, such as 2";
        reader.wrong(code::MISSING_OPTION, "images", message, accepted);
        return None;
    };
    let size = workload.image_size.as_deref().unwrap_or_default();
    let sides = size
        .split_once('x')
        .map(|(width, height)| (width.parse(), height.parse()));
    let Some((Ok(width @ 1..=MOST_PIXELS), Ok(height @ 1..=MOST_PIXELS))) = sides else {
        let accepted = "pixels, such as 1024x1024";
        let message = "this is no width and height";
        reader.wrong(code::MALFORMED_OPTION, "image_size", message, accepted);
        return None;
    };
    // A model that is not known is told where it is asked for.
    let model = catalog.architecture(model).ok()?;
    let Some(vision) = model.vision else {
        let message = format!("what {} makes of an image is not known", model.name);
        let accepted = "models whose `vision_config` says it; else say --image-tokens and \
                        --encoder-parameters";
        reader.wrong(code::CONTRADICTION, "images", &message, accepted);
        return None;
    };
    if !reader.is_given("image_size") {
        reader.assume("size of an image", format!("{size} pixels"), None);
    }
    let each = vision.of_image(width, height);
    Some(Images {
        tokens: images.saturating_mul(each.tokens),
        patches: images.saturating_mul(each.patches),
        parameters: Some(real(vision.parameters)),
    })
}
