import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createSampleRepository } from "../../src/projects/sample-repository.ts";
import { createProjectBench } from "./support/project-bench.ts";

test("the sample is a clean repository with one commit, in a missing or an empty folder", async () => {
  const bench = await createProjectBench();
  await mkdir(join(bench.dir, "empty"));
  for (const name of ["deep/missing", "empty"]) {
    const { path, commit } = await bench.sample(name);
    expect(path).toBe(join(bench.dir, name));
    expect(await bench.run(path, "rev-list", "--all")).toBe(commit);
    expect(await bench.run(path, "status", "--porcelain")).toBe("");
  }
  expect((await readdir(bench.dir)).toSorted()).toEqual(["deep", "empty"]);
});

test("one that is interrupted leaves nothing that looks like a repository", async () => {
  const bench = await createProjectBench();
  const target = join(bench.dir, "plume");
  const stop = new AbortController();
  const git: typeof bench.git = {
    ...bench.git,
    run(args, options, signal) {
      if (args[0] === "commit") stop.abort(new Error("interrupted"));
      return bench.git.run(args, options, signal);
    },
  };
  await expect(createSampleRepository({ git, config: bench.config }, target, stop.signal)).rejects.toThrow("interrupted");
  expect(await readdir(bench.dir)).toEqual([]);
  expect(await bench.run((await bench.sample()).path, "rev-list", "--count", "HEAD")).toBe("1");
});

test("a folder with something in it is left alone", async () => {
  const bench = await createProjectBench();
  await mkdir(join(bench.dir, "plume"));
  await writeFile(join(bench.dir, "plume", "mine.txt"), "mine\n");
  await expect(bench.sample()).rejects.toMatchObject({ code: "conflict" });
  expect(await readdir(join(bench.dir, "plume"))).toEqual(["mine.txt"]);
});
