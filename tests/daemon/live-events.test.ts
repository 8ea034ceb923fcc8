import { afterAll, beforeAll, expect, test } from 'vitest'
import { bearer } from '../support/admin.ts'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { derived, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

let d: TestDaemon
beforeAll(async () => {
  d = await startTestDaemon({ seed })
})
afterAll(() => d.stop())

type Tapped = { id: number; outcome: string; uid: string | null; chip: object | null }
type Line = { taps?: Tapped[]; cursor?: number; changed?: string[] }

/** Acts once the stream has begun, then reads on until its lines are enough. */
async function until(
  query: string,
  act: () => Promise<unknown>,
  isEnough: (lines: readonly Line[]) => boolean,
): Promise<Line[]> {
  const ended = new AbortController()
  const answer = await fetch(`${d.url}/admin/events/follow${query}`, {
    headers: bearer(d.adminToken),
    signal: ended.signal,
  })
  expect(answer.headers.get('content-type')).toContain('application/x-ndjson')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let acting: Promise<unknown> | undefined
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: '', done: true }
    if (done) throw new Error(`The stream ended: ${text}`)
    text += value ?? ''
    const complete = text.split('\n').slice(0, -1)
    const lines: Line[] = complete.filter(Boolean).map((line) => JSON.parse(line))
    // From here on, nothing is missed.
    if (lines.some(({ changed }) => changed) && lines.some(({ taps }) => taps)) acting ??= act()
    if (!acting || !isEnough(lines)) continue
    await acting
    ended.abort()
    return lines
  }
}

const tapsIn = (lines: readonly Line[]) => lines.flatMap(({ taps = [] }) => taps)
const send = (counter: number) =>
  fetch(d.url + tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find'))

test('taps come with their chips to each that follows, and go on after a cursor', async () => {
  const act = async () => {
    for (const counter of [1, 2, 2]) await send(counter)
  }
  const hasAll = (lines: readonly Line[]) => tapsIn(lines).some(({ outcome }) => outcome === 'replayed')
  const [lines, other] = await Promise.all([
    until('?team=Acme', act, hasAll),
    until('', async () => undefined, hasAll),
  ])
  const taps = tapsIn(lines)
  expect(taps.map(({ outcome }) => outcome)).toEqual(['valid', 'valid', 'replayed'])
  expect(taps[0]?.chip).toMatchObject({ chipGroup: 'Jackets', item: 'jacket', itemName: expect.any(String) })
  expect(tapsIn(other).map(({ id }) => id)).toEqual(taps.map(({ id }) => id))
  // Meanwhile, nobody follows.
  await send(3)
  const again = await until(
    `?after=${lines.findLast(({ cursor }) => cursor)?.cursor}`,
    () => send(4),
    (lines) => tapsIn(lines).length >= 2,
  )
  expect(tapsIn(again).map(({ outcome }) => outcome)).toEqual(['valid', 'valid'])
  const newest = await until(
    '',
    async () => undefined,
    (lines) => lines.length > 0,
  )
  expect(tapsIn(newest)).toHaveLength(5)
})

test('a change is told by its kind', async () => {
  const lines = await until(
    '?team=Acme',
    () =>
      fetch(`${d.url}/admin/chips/${uids.jacket}/disable`, {
        method: 'POST',
        headers: { ...bearer(d.adminToken), 'content-type': 'application/json' },
        body: '{}',
      }),
    (all) => all.filter(({ changed }) => changed).length > 1,
  )
  const [first, second] = lines.flatMap(({ changed }) => (changed ? [changed] : []))
  expect(first).toContain('batches')
  expect(second).toEqual(['chips', 'audit'])
})
