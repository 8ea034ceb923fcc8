import type { Queries } from './database.ts'

/** Who makes a change, and in which request. */
export interface Actor {
  /** `admin:NAME`, `key:NAME`, `seed` or `daemon`. */
  readonly name: string
  readonly requestId: string | null
}

export interface Change {
  at: string
  actor: Actor
  teamId: number | null
  /** A noun and a verb: `chips.edit`. */
  action: string
  target: string
  /** What changed; never a key, a code or a token. */
  detail?: Record<string, unknown>
}

/** Belongs in the same write as the change itself, so that neither is there without the other. */
export async function recordChange(db: Queries, { actor, detail, ...change }: Change): Promise<void> {
  const row = { ...change, actor: actor.name, requestId: actor.requestId, detail: JSON.stringify(detail ?? {}) }
  await db.insertInto('audit').values(row).execute()
}
