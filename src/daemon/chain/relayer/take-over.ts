import { queueLengths, takeableIntents, takeIntents } from '../../store/chain/signer-queues.ts'
import { jammedSigners } from './queues.ts'
import { ofSigner, type Sender, writeAsHolder } from './sender.ts'

/**
 * A signer that was jammed itself takes nothing over for this long: if both fail for the same reason, such as a remote
 * signer that is away, intents would go back and forth between them.
 */
const soundForMs = 30_000
/** How often signers that are no longer configured are looked for. */
const strangersMs = 10_000

/** Other signers of the chain whose intents this one may take: jammed ones, and those that are not configured here. */
async function othersInNeed(sender: Sender): Promise<string[]> {
  const { chain, name, db, memory, clock } = sender
  const { chainId, signers } = chain
  const now = clock.monotonic()
  if (memory.strangers === undefined || now - memory.strangers.at >= strangersMs) {
    const names = [...(await queueLengths(db.read, chainId)).keys()].filter((one) => !(one in signers))
    memory.strangers = { at: now, names }
  }
  const jammed = await jammedSigners(chain, db)
  return [...jammed, ...memory.strangers.names].filter((one) => one !== name)
}

/** @returns IDs of intents that wait for a signer in need, and that this one can send */
async function takeable(sender: Sender, limit: number): Promise<{ from: string[]; ids: number[] }> {
  const { db, memory, clock } = sender
  const { jammedAt } = memory
  const isSound =
    memory.jam === null && (jammedAt === undefined || clock.monotonic() - jammedAt >= soundForMs)
  const from = isSound && limit > 0 ? await othersInNeed(sender) : []
  const ids = from.length === 0 ? [] : await takeableIntents(db.read, { ...ofSigner(sender), from, limit })
  return { from, ids }
}

export const canTakeOver = async (sender: Sender): Promise<boolean> =>
  (await takeable(sender, 1)).ids.length > 0

/**
 * Takes intents over from signers that do not get on. They have never been signed, so nothing can take effect twice.
 * @param limit the number that can be signed at once
 * @returns false if there are none
 */
export async function takeOver(sender: Sender, limit: number): Promise<boolean> {
  const { from, ids } = await takeable(sender, limit)
  if (ids.length === 0) return false
  const taken = await writeAsHolder(sender, (trx, at) =>
    takeIntents(trx, { ...ofSigner(sender), from, ids, at }),
  )
  await sender.changed(taken.map(({ id }) => id))
  return taken.length > 0
}

/** While this signer is jammed, the others take what it has not signed yet. */
export async function leavesToOthers({ chain, name, db, memory }: Sender): Promise<boolean> {
  const others = Object.keys(chain.signers).filter((one) => one !== name)
  if (memory.jam === null || others.length === 0) return false
  const jammed = await jammedSigners(chain, db)
  return others.some((one) => !jammed.includes(one))
}
