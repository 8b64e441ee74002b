/** The schema that holds everything of ours. */
export const SCHEMA = "harnais";

/** What every session of both bases starts with. `public` is where extensions live. */
export const SESSION_SETTINGS = `
  set search_path to ${SCHEMA}, public;
  set timezone to 'UTC';
  set datestyle to 'ISO, MDY';
  set intervalstyle to 'postgres';
  set bytea_output to 'hex'`;
