import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Call, type Fleet, startFleet, untilItHolds } from '../support/fleet.ts'
import { answersOf, Chip, inA, nfcSeed, talk } from '../support/nfc.ts'

let fleet: Fleet
let calls: [Call, Call]
beforeAll(async () => {
  fleet = await startFleet({ seed: nfcSeed })
  calls = fleet.daemons.map(({ call }) => call) as [Call, Call]
}, 60_000)
afterAll(() => fleet?.stop())

/** A client that dies, or whose next request reaches another daemon, once the chip's setup has begun. */
async function begun(call: Call, chip: Chip, body: object) {
  const card = chip.put()
  let at = (await call('POST /admin/nfc/sessions', { atr: Buffer.from(card.atr).toString('hex'), ...body }))
    .body
  while (at.next.phase === 'inspect') {
    const answers = await answersOf(card, at.next.apdus)
    at = (await call(`POST /admin/nfc/sessions/${at.id}/answers`, { step: at.step, answers })).body
  }
  card.lift()
  return at
}

test('of ten sessions on one UID, five at each daemon, one sets a chip up', async () => {
  for (let round = 0; round < 5; round += 1) {
    const uid = Buffer.from(`0411223344550${round}`, 'hex')
    const chips = Array.from({ length: 10 }, () => new Chip(uid))
    const ended = await Promise.all(chips.map((chip, n) => talk(calls[n % 2] as Call, chip.put(), inA)))
    expect(
      ended.filter(({ status }) => status === 'provisioned'),
      JSON.stringify(ended),
    ).toHaveLength(1)
    expect(ended.filter(({ code }) => code === 'chip_busy')).toHaveLength(9)
    expect(chips.filter(({ versions }) => versions[0] === 1)).toHaveLength(1)
  }
})

test('a conversation that reaches another daemon is told so, and begins again there once the first is silent', async () => {
  const [here, there] = calls
  const chip = new Chip()
  const at = await begun(here, chip, inA)
  const strayed = await there(`POST /admin/nfc/sessions/${at.id}/answers`, {
    step: at.step,
    answers: ['9100'],
  })
  expect(strayed).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(strayed.body.message).toContain('another daemon')
  expect(await talk(there, chip.put(), inA)).toMatchObject({ status: 'failed', code: 'chip_busy' })
  expect((await there(`DELETE /admin/nfc/journal/${chip.uid}`)).status).toBe(409)
  await untilItHolds(async () =>
    expect(await talk(there, chip.put(), { purpose: 'recover' })).toMatchObject({ status: 'provisioned' }),
  )
  const late = await here(`POST /admin/nfc/sessions/${at.id}/answers`, { step: at.step, answers: ['9100'] })
  expect(late.body.next?.outcome ?? late.body).toMatchObject({
    [late.status === 200 ? 'error' : 'message']: expect.stringContaining('took this chip over'),
  })
  expect((await there('GET /admin/nfc/journal')).body).toEqual([])
})

test('a station has its chip back at once, at whichever daemon it begins anew', async () => {
  const [here, there] = calls
  const chip = new Chip()
  const atDesk = { ...inA, station: 'desk' }
  await begun(here, chip, atDesk)
  expect(await talk(there, chip.put(), { ...inA, station: 'table' })).toMatchObject({ code: 'chip_busy' })
  expect(await talk(there, chip.put(), atDesk)).toMatchObject({ status: 'provisioned' })
})

test('the rows of a sheet go each to one chip, at both daemons, and its labels too', async () => {
  const [here, there] = calls
  const body = { team: 'Acme', id: 'a-sheet', rows: 10, keySet: inA.keySet, chipGroup: inA.chipGroup }
  const runs = await Promise.all(
    [here, there, here, there].map((call) => call('POST /admin/nfc/sheets', body)),
  )
  expect(new Set(runs.map(({ body: { run } }) => run)).size, JSON.stringify(runs)).toBe(1)
  const { run } = runs[0]?.body ?? {}
  const ended = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      talk(
        calls[n % 2] as Call,
        new Chip().put(),
        { ...inA, waitForDetails: true, sheet: { run } },
        { onInspected: ({ row }) => ({ row, label: `S-${row}` }) },
      ),
    ),
  )
  expect(
    ended.map(({ status }) => status),
    JSON.stringify(ended),
  ).toEqual(ended.map(() => 'provisioned'))
  expect(ended.map(({ row }) => row ?? 0).sort((a, b) => a - b)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
  expect((await there(`GET /admin/nfc/sheets/${run}`)).body).toMatchObject({ rows: 10, taken: 10, held: 0 })
})
