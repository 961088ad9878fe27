// Figures as people read them, as report/numbers.py says them on a terminal; what is not known is a dash.
const UNKNOWN = "–";
const GB = 1e9, HOUR = 3600, DAY = 86400, YEAR_DAYS = 365, HOURS_PER_MONTH = 730;

const known = (figure) => typeof figure === "number" && Number.isFinite(figure);
const told = (say) => (figure, ...how) => (known(figure) ? say(figure, ...how) : UNKNOWN);
const grouped = (figure, digits = 0) =>
  figure.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** Digits behind the point that leave three significant ones. */
function digitsOf(figure) {
  const size = Math.abs(figure);
  if (size >= 99.95 || size === 0) return 0;
  if (size >= 0.9995) return size >= 9.995 ? 1 : 2;
  return Math.min(2 - Math.floor(Math.log10(size) + 1e-9), 9);
}
const rate = told((figure) => grouped(figure, digitsOf(figure)));
const count = told((figure) => grouped(figure));
const percent = told((share, digits = 1) => `${grouped(share * 100, digits)} %`);
const rough3 = (usd) => (usd >= 1e6 ? `~$${rate(usd / 1e6)}M` : `~$${usd < 100 ? rate(usd) : grouped(Number(usd.toPrecision(3)))}`);
const money = told((usd, rough = false) => (rough && usd > 0 ? rough3(usd) :
  `${usd < 0 ? "−" : ""}$${grouped(Math.abs(usd), Math.abs(usd) < 100 && usd % 1 ? 2 : 0)}`));
const hourly = told((usd) => `${usd < 0 ? "−" : ""}$${rate(Math.abs(usd))}/h`);
const perMillion = told((usd) => `$${rate(usd)}`);
const watts = told((power) => (power < 1e3 ? `${count(power)} W` : power < 1e6 ? `${rate(power / 1e3)} kW` :
  `${rate(power / 1e6)} MW`));
const gigabytes = told((bytes) => `${rate(bytes / GB)} GB`);
const prefixed = told((figure) => {
  const [size, name] = [
    [1e12, "T"],
    [1e9, "B"],
    [1e6, "M"],
    [1e3, "k"],
    [1, ""]
  ].find(([least]) => figure >= least) ?? [1, ""];
  return `${Number((figure / size).toPrecision(3))}${name}`;
});
const duration = told((seconds) => {
  const [size, name] = [
    [2 * HOUR, HOUR, "h"],
    [120, 60, "min"],
    [1, 1, "s"]
  ].find(([least]) => seconds >= least)?.slice(1) ?? [1e-3, "ms"];
  return `${rate(seconds / size)} ${name}`;
});

/** Tells all figures of one drawing in one unit, with one number of decimals. */
function alike(figures, scale, unit) {
  const digits = digitsOf(Math.max(...figures.map(Math.abs)) / scale);
  return (figure) => `${grouped(figure / scale, digits)} ${unit}`;
}
const timesAlike = (times) => (Math.max(...times) >= 1 ? alike(times, 1, "s") : alike(times, 1e-3, "ms"));

const ageDays = (date, day) => {
  const [year, month, of] = (date ?? "").split("-").map(Number);
  return year ? (Date.parse(day) - Date.UTC(year, (month || 12) - 1, of || 28)) / (DAY * 1e3) : Infinity;
};
/** Whether a price is only remembered or chosen, or older than a year on the day of the plan. */
const isWeak = (line, day) => line.price_status != null && line.price_status !== "given" &&
  (!["stored", "derived"].includes(line.price_status) || ageDays(line.price_date, day) > YEAR_DAYS);
const isRough = (bill, day) => bill.some((line) => (line.price_usd || line.usd_per_hour) && isWeak(line, day));
