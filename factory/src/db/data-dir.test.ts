import { expect, test } from "vitest";
import { isStorageError } from "./data-dir.ts";

const systemError = (code: string, syscall: string): Error => Object.assign(new Error(`${code}: ${syscall}`), { code, syscall });

test.each(["ENOSPC", "EROFS", "EDQUOT", "EACCES", "EPERM", "EIO", "ENOTDIR"])("%s of a file is the storage's", (code) => {
  expect(isStorageError(systemError(code, "open"))).toBe(true);
});

test.each([
  ...["EAGAIN", "ENOMEM", "E2BIG", "EMFILE", "ENOENT", "ECONNREFUSED"].map((code) => systemError(code, "write")),
  systemError("EACCES", "spawn /bin/pi"),
  Object.assign(new Error("no syscall"), { code: "ENOSPC" }),
  new TypeError("a bug"),
  "ENOSPC",
])("%s is not", (error) => {
  expect(isStorageError(error)).toBe(false);
});
