import type { Git, GitPlace } from "./git.ts";
import type { StagedTree } from "./stage-tree.ts";

export interface Identity {
  readonly name: string;
  readonly email: string;
}

/** Who commits; the author is the agent's persona. `.invalid` never reaches a mailbox (RFC 2606). */
export const FACTORY_IDENTITY: Identity = { name: "Harnais", email: "factory@harnais.invalid" };

export interface TreeCommit {
  readonly staged: Pick<StagedTree, "tree" | "place">;
  readonly parent: string;
  readonly message: string;
  readonly author: Identity;
}

/** Makes the commit object, on no branch; its tree must be in the repository (`keep`). */
export async function commitTree(git: Git, commit: TreeCommit, signal: AbortSignal): Promise<string> {
  const { staged, parent, message, author } = commit;
  const { gitDir, workTree, cwd } = staged.place;
  const place: GitPlace = {
    cwd,
    ...(gitDir === undefined ? {} : { gitDir }),
    ...(workTree === undefined ? {} : { workTree }),
    stdin: message,
    env: {
      GIT_AUTHOR_NAME: toName(author.name),
      GIT_AUTHOR_EMAIL: toEmail(author.email),
      GIT_COMMITTER_NAME: FACTORY_IDENTITY.name,
      GIT_COMMITTER_EMAIL: FACTORY_IDENTITY.email,
    },
  };
  return (await git.run(["commit-tree", staged.tree, "-p", parent, "-F", "-"], place, signal)).trim();
}

// Git drops `<`, `>` and line ends from names, and dies on a name that is empty afterwards.
const toName = (name: string): string => name.replace(/[<>\p{Cc}]+/gu, " ").trim() || FACTORY_IDENTITY.name;
const toEmail = (email: string): string => email.replace(/[<>\s\p{Cc}]+/gu, "") || FACTORY_IDENTITY.email;
