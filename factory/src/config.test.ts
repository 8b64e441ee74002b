import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { loadConfig } from "./config.ts";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "harnais-config-"));
  mkdirSync(join(root, "repo", ".git"), { recursive: true });
  mkdirSync(join(root, "repo", "deep"));
  writeFileSync(join(root, "secrets.env"), "SHOP=sesame-open\nLLM_API_KEY=from-the-file\nSHORT=abc\n");
  writeFileSync(join(root, "repo", "deep", "secrets.env"), "SHOP=sesame-open\n");
  symlinkSync(join(root, "repo", "deep", "secrets.env"), join(root, "link.env"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const load = (env: Record<string, string>) => loadConfig({ cwd: root, env });

test("known secrets are the env file's values, what is named like one, what rows name, and the database's password", () => {
  const config = load({
    HARNAIS_ENV_FILE: "secrets.env",
    HARNAIS_TOKEN: "token-of-the-api",
    LLM_API_KEY: "from-outside",
    MY_MODEL: "named-by-a-row",
    LANG: "de_DE.UTF-8",
    PIN_PASSWORD: "1234",
    DATABASE_URL: "postgres://me:p%40ssw%C3%B6rd@127.0.0.1/db?password=another-one",
  });
  expect(config.knownSecrets(["MY_MODEL"]).toSorted()).toEqual(
    [
      "sesame-open",
      "from-the-file",
      "from-outside",
      "token-of-the-api",
      "named-by-a-row",
      "p%40ssw%C3%B6rd",
      "p@sswörd",
      "another-one",
    ].toSorted(),
  );
  expect(config.knownSecrets()).not.toContain("named-by-a-row");
  expect(config.secret("LLM_API_KEY")).toBe("from-outside");
});

test.each(["repo/deep/secrets.env", "link.env"])("an env file in a repository is refused: %s", (file) => {
  expect(() => load({ HARNAIS_ENV_FILE: file })).toThrow(
    expect.objectContaining({
      code: "bad-config",
      field: "HARNAIS_ENV_FILE",
      message: expect.stringContaining("lies in the git repository"),
    }),
  );
});

test("an env file that cannot be read is named", () => {
  expect(() => load({ HARNAIS_ENV_FILE: "none.env" })).toThrow(/HARNAIS_ENV_FILE: cannot read none\.env/);
});
