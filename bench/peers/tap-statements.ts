import { findTapped } from '../../src/daemon/store/carried-chips.ts'
import { Adapter, kyselyBy } from '../../src/daemon/store/postgres/dialect.ts'
import { takingQuery } from '../../src/daemon/store/postgres/take-tap.ts'

interface Statement {
  text: string
  values: unknown[]
}

/** The two statements of a tap of a chip that carries nothing, with their values. */
export async function tapStatements(uid: string, counter: number, teamId: number, keySetId: number) {
  let read: Statement = { text: '', values: [] }
  const db = kyselyBy(async ({ text, values }) => {
    read = { text, values }
    return { rows: [], rowCount: 0 }
  }, new Adapter())
  await findTapped(db, uid)
  const seen = { uid, teamId, keySetId, generation: 0, redirectUrl: null, itemId: null, tokenRow: null }
  const at = new Date().toISOString()
  const tap = {
    at,
    chipUid: uid,
    teamId,
    keySetId,
    counter,
    outcome: 'valid',
    via: 'find',
    tamper: null,
  } as const
  const take = takingQuery([{ seen, tap, rows: {}, message: undefined, events: undefined }])
  return { read, take: { text: take.text, values: take.values } }
}
