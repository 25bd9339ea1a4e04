// Base values back into the unit a person asked in, and figures a person reads.
const plain = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 4 });
const CURRENCIES = { USD: "$", EUR: "€", GBP: "£", JPY: "¥", INR: "₹" };
const SHORT = {
  metre: "m", kilometre: "km", centimetre: "cm", millimetre: "mm", mile: "miles", foot: "ft", inch: "in",
  gram: "g", kilogram: "kg", milligram: "mg", tonne: "t", pound: "lb", celsius: "°C", fahrenheit: "°F", kelvin: "K",
  percent: "%", gigabyte: "GB", terabyte: "TB", megabyte: "MB", second: "s", minute: "min", hour: "h",
};

const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 10 });

export function figure(value) {
  const size = Math.abs(value);
  if (value !== 0 && size < 1e-4) return value.toExponential(1);
  return (size >= 1e6 ? compact : plain).format(value);
}

export const toUnit = (condition, base) => (base - condition.offset) / condition.factor;
export const toBase = (condition, value) => value * condition.factor + condition.offset;

export function withUnit(value, unit, shown = figure(value)) {
  if (!unit) return shown;
  return CURRENCIES[unit] ? `${CURRENCIES[unit]}${shown}` : `${shown} ${SHORT[unit] ?? unit}`;
}

// A threshold is shown as it was asked for, down to the last digit.
export function threshold(value, unit) {
  return withUnit(value, unit, Math.abs(value) >= 1e9 ? figure(value) : exact.format(value));
}
