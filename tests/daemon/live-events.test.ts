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

type Line = { taps?: { outcome: string; uid: string; chip: object | null }[]; changed?: string[] }

/** Lines until one is enough. */
async function until(query: string, act: () => Promise<unknown>, isEnough: (line: Line) => boolean) {
  const ended = new AbortController()
  const answer = await fetch(`${d.url}/admin/events/follow${query}`, {
    headers: bearer(d.adminToken),
    signal: ended.signal,
  })
  expect(answer.headers.get('content-type')).toContain('application/x-ndjson')
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  let isActing = false
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: '', done: true }
    if (done) throw new Error(`The stream ended: ${text}`)
    // The first empty line says that nothing is missed from here on.
    if (!isActing) void act()
    isActing = true
    text += value ?? ''
    const lines: Line[] = text
      .split('\n')
      .slice(0, -1)
      .filter(Boolean)
      .map((line) => JSON.parse(line))
    const found = lines.find(isEnough)
    if (!found) continue
    ended.abort()
    return { found, lines }
  }
}

test('taps come together, with their chips, to each that follows', async () => {
  const act = async () => {
    for (const counter of [1, 2, 2])
      await fetch(d.url + tapPath(tap(derived, { uid: uids.jacket }, counter), '/chips/find'))
  }
  const has = (line: Line) => line.taps?.some(({ outcome }) => outcome === 'replayed') ?? false
  const [{ lines }, other] = await Promise.all([
    until('?team=Acme', act, has),
    until('', async () => undefined, has),
  ])
  const taps = lines.flatMap(({ taps = [] }) => taps)
  expect(taps.map(({ outcome }) => outcome)).toEqual(['valid', 'valid', 'replayed'])
  expect(taps[0]?.chip).toMatchObject({ chipGroup: 'Jackets', item: 'jacket', itemName: expect.any(String) })
  expect(other.found.taps?.length).toBeGreaterThan(0)
})

test('a change is told by its kind, until somebody loads it', async () => {
  let isDone = false
  // The first look at the database tells nothing, so the change is repeated until it is told.
  const act = async () => {
    for (let at = 0; !isDone; at = 1 - at)
      await fetch(`${d.url}/admin/chips/${uids.jacket}/${at === 0 ? 'disable' : 'enable'}`, {
        method: 'POST',
        headers: { ...bearer(d.adminToken), 'content-type': 'application/json' },
        body: '{}',
      })
  }
  let changing: Promise<void> | undefined
  const { found } = await until(
    '?team=Acme',
    async () => {
      changing = act()
    },
    ({ changed }) => changed !== undefined,
  )
  isDone = true
  await changing
  expect(found.changed).toEqual(['chips', 'audit'])
})
