import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openAdminApp } from '../support/admin.ts'
import { acmeKey, derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

const batch = 'b_1hq3v9k7s2m4xa'
const uidAt = (n: number): string => `0417${n.toString(16).padStart(10, '0')}`

const openImported = async (count: number) => {
  const t = await openAdminApp({ seed })
  const uidsIn = Array.from({ length: count }, (_, n) => uidAt(n + 1))
  const imported = await t.app.inject({
    method: 'POST',
    url: '/admin/chips/import?chipGroup=Undo&keySet=101&team=Acme',
    headers: { ...t.admin, 'content-type': 'text/csv', 'tapchip-batch': batch },
    payload: `uid\n${uidsIn.join('\n')}\n`,
  })
  expect(imported.statusCode).toBe(200)
  const undo = async (body: object = { batch, uids: uidsIn }) => {
    const answer = await t.call('POST /admin/chips/import/undo', body)
    expect(answer.status).toBe(200)
    return answer.body as { uid: string; status: string; error?: string }[]
  }
  return { ...t, uidsIn, undo }
}

describe('POST /admin/chips/import/undo', () => {
  test('ten at once remove each chip once, and leave the count of the group right', async () => {
    const t = await openImported(20)
    const answers = await Promise.all(Array.from({ length: 10 }, () => t.undo()))
    for (const at of t.uidsIn.keys())
      expect(answers.filter((answer) => answer[at]?.status === 'removed')).toHaveLength(1)
    expect(answers.flat().every(({ status }) => status === 'removed' || status === 'unchanged')).toBe(true)
    const { chips } = await t.ctx.db.read
      .selectFrom('chipGroups')
      .select('chips')
      .where('name', '=', 'Undo')
      .executeTakeFirstOrThrow()
    expect(chips).toBe(0)
  })

  test('a chip with a tap, an event, or another value stays, and so does one of another batch', async () => {
    const t = await openImported(4)
    const [tapped, assigned, edited, fine] = t.uidsIn as [string, string, string, string]
    await t.app.inject({ url: tapPath(tap(derived, { uid: tapped }, 1)) })
    const made = await t.ctx.db.read.selectFrom('badgeEvents').select('id').executeTakeFirstOrThrow()
    const key = { 'x-svc-api-key': acmeKey }
    const given = await t.call('POST /badge-events/assign', { poapEventId: made.id, tagUID: assigned }, key)
    expect(given.status).toBe(200)
    await t.call('PATCH /chips', { tagUIDs: [edited], updates: { redirectUrl: 'https://example.com/' } }, key)
    const left = await t.undo({ batch, uids: [...t.uidsIn, uids.blank, '04170000001234'] })
    expect(left.map(({ status, error }) => [status, error?.split('.')[0]])).toEqual([
      ['failed', 'The chip was tapped since the import'],
      ['failed', 'An event was assigned to the chip since the import'],
      ['failed', 'The chip was changed since the import'],
      ['removed', undefined],
      ['failed', 'The chip was changed since the import'],
      ['unchanged', undefined],
    ])
    expect(left[3]?.uid).toBe(BigInt(`0x${fine}`).toString())
  })
})

test('whatever changes a chip, except its taps, ends the claim of its import: every UPDATE is walked', () => {
  const root = join(import.meta.dirname, '../../src/daemon')
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/migrations|contract/.test(name),
  )
  const updates = files.flatMap((name) => {
    const text = readFileSync(join(root, name), 'utf8')
    const starts = [
      ...text.matchAll(
        /updateTable\(\s*['"`]chips['"`]|update\s+(or \w+\s+)?"?chips"?\s|into\s+"?chips"?\s[^`]*do update/gi,
      ),
    ]
    return starts.map(({ index }) => {
      const [, set = ''] =
        /^[\s\S]*?\bset\b\s*\(?([\s\S]*?)(\.where|\bwhere\b|\n\n|$)/i.exec(text.slice(index)) ?? []
      return { name, set }
    })
  })
  // That what taps gave has ended is no change either: what ends it for a change of the chip records that beside.
  const ofTaps = new Set([
    'lastCounter',
    'lastTap',
    'lastTapAt',
    'catchesUp',
    'simulatedCounter',
    'endedTap',
    'endedAt',
    'claimRound',
    'claimsEndedTap',
    'claimsEndedAt',
    'tagTamper',
    'tamper',
    'publicId',
    'openedAt',
    'haloForm',
  ])
  const others = updates.filter(({ set }) => {
    const columns = [...set.matchAll(/(?:[{,]|^)\s*"?(\w+)"?\s*[:=](?!>)/g)].map(([, column]) => column ?? '')
    return (
      !/importBatch"?\s*[:=]\s*null/.test(set) &&
      !(columns.length > 0 && columns.every((column) => ofTaps.has(column)))
    )
  })
  expect(others).toEqual([])
  // The pattern finds what there is.
  expect(updates.length).toBeGreaterThanOrEqual(10)
  expect(updates.filter(({ set }) => set.includes('importBatch')).length).toBeGreaterThanOrEqual(5)
})
