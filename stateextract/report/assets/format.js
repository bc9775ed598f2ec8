// Numbers, sizes and times as people read them. Everything is UTC and English, so that a report reads the same everywhere.
const format = (() => {
  const grouped = new Intl.NumberFormat("en-US");
  const upTo = (digits) => new Intl.NumberFormat("en-US", { maximumFractionDigits: digits });
  const [whole, tenths, thousandths] = [upTo(0), upTo(1), upTo(3)];
  const exactTenths = new Intl.NumberFormat("en-US", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
  const LATEST = 8.64e15; // of a Date; Flink's Long.MAX_VALUE, "never", is far beyond

  const count = (value) => (value === null || value === undefined ? "–" : grouped.format(value));

  // Units are powers of 1000, as on the command line.
  function bytes(value) {
    if (value === null || value === undefined) return "–";
    if (Math.abs(value) < 1000) return `${value}\u00a0B`;
    let amount = value;
    for (const unit of ["B", "kB", "MB", "GB"]) {
      if (Math.abs(amount) < 999.95) return `${amount.toFixed(1)}\u00a0${unit}`;
      amount /= 1000;
    }
    return `${amount.toFixed(1)}\u00a0TB`;
  }

  // Nothing that exists is shown as 0 %, nothing that is incomplete as 100 %.
  function percent(share) {
    if (share === null || share === undefined) return "–";
    const value = share * 100;
    if (value > 0 && value < 0.1) return "<\u00a00.1\u00a0%";
    if (value > 99.9 && value < 100) return ">\u00a099.9\u00a0%";
    return `${(Math.abs(value) < 10 || value > 99 ? tenths : whole).format(value)}\u00a0%`;
  }

  function change(from, to) {
    if (from === null || to === null) return "–";
    if (from === 0) return to === 0 ? "0\u00a0%" : "new";
    const value = ((to - from) / from) * 100;
    return `${value > 0 ? "+" : value < 0 ? "−" : ""}${(Math.abs(value) < 10 ? tenths : whole).format(Math.abs(value))}\u00a0%`;
  }

  const ratio = (value) => (value === null || value === undefined ? "–" : `${exactTenths.format(value)}\u00a0×`);
  const decimal = (value) => thousandths.format(value);

  function distinct(found) {
    if (!found) return "–";
    if (found.exact) return count(found.count);
    return `≈ ${count(found.count)}${found.error ? ` ± ${percent(found.error)}` : ""}`;
  }

  function time(ms) {
    if (ms === null || ms === undefined) return "–";
    if (Math.abs(ms) > LATEST) return ms > 0 ? "never (end of time)" : "the beginning of time";
    const text = new Date(ms).toISOString();
    const [date, clock] = text.split("T");
    return `${date} ${ms % 1000 ? clock.slice(0, -1) : clock.slice(0, 8)}`;
  }

  // The two largest units of a duration.
  function duration(ms) {
    const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1000]];
    let rest = Math.abs(ms);
    if (rest < 1000) return `${rest} ms`;
    if (rest >= 730 * 86_400_000) return `${tenths.format(rest / (365.25 * 86_400_000))} years`;
    const parts = [];
    for (const [unit, size] of units) {
      const many = Math.floor(rest / size);
      if (many) parts.push(`${count(many)} ${unit}`);
      rest -= many * size;
      if (parts.length === 2 || (parts.length && !many)) break;
    }
    return parts.join(" ");
  }

  // "3 d 4 h before" or "after" the time that ages are counted to; empty where that is not known.
  function away(ms, asOf) {
    if (ms === null || asOf === null || Math.abs(ms) > LATEST) return "";
    return ms === asOf ? "then" : `${duration(asOf - ms)} ${ms < asOf ? "before" : "after"}`;
  }

  const many = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

  return { count, bytes, percent, change, ratio, decimal, distinct, time, duration, away, many };
})();
