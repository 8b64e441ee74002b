import { types } from "pg";
import type { CustomTypesConfig } from "pg";

// Object ids of PostgreSQL's own types (pg_type.dat).
const INT8 = 20;
const DATE = 1082;
const TIMESTAMP = 1114;
const TIMESTAMPTZ = 1184;
const NUMERIC = 1700;
// `2026-11-29 17:17:48.957123+00`: what a session with datestyle ISO says.
const TIMESTAMP_TEXT = /^(\d{4,})-(\d\d)-(\d\d) (\d\d:\d\d:\d\d)(\.\d+)?([+-]\d\d)(:\d\d)?$/;

/**
 * A bigint as a number.
 * @throws RangeError beyond the safe integers: a rounded count or id would be an invented fact.
 */
export function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database holds the integer ${text}, beyond what a number can tell`);
  return value;
}

/** A timestamptz as ISO 8601, UTC, with milliseconds; `infinity` and years before Christ stay as they are. */
export function parseTimestamp(text: string): string {
  const parts = TIMESTAMP_TEXT.exec(text);
  if (parts === null) return text;
  const [, year = "", month, day, time, fraction = ".0", hours, minutes = ":00"] = parts;
  const milliseconds = fraction.slice(1, 4).padEnd(3, "0");
  return new Date(`${toIsoYear(year)}-${month}-${day}T${time}.${milliseconds}${hours}${minutes}`).toISOString();
}

// Beyond 9999, ISO 8601 wants a sign and six digits.
const toIsoYear = (year: string): string => (year.length === 4 ? year : `+${year.padStart(6, "0")}`);

const PARSERS = new Map<number, (text: string) => unknown>([
  [INT8, parseInt8],
  [NUMERIC, Number],
  [TIMESTAMPTZ, parseTimestamp],
  // No hidden time zone arithmetic: these come as they are written.
  [DATE, String],
  [TIMESTAMP, String],
]);

/** Type parsers of a `pg` client, the same on both bases. */
export const typeParsers: CustomTypesConfig = {
  getTypeParser: ((oid, format) => PARSERS.get(oid) ?? types.getTypeParser(oid, format)) as typeof types.getTypeParser,
};
