import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AdminApp, bearer, openAdminApp, tenTimes } from '../support/admin.ts'
import { type TestClock, testClock } from '../support/daemon.ts'
import { ageLeases } from '../support/engines.ts'
import { answersOf, Chip, inA, keySets, masterKeys, nfcSeed, talk } from '../support/nfc.ts'

let t: AdminApp
let clock: TestClock
let logged: string[]
beforeEach(async () => {
  clock = testClock()
  logged = []
  t = await openAdminApp({ seed: nfcSeed, clock, log: (line) => logged.push(line) })
})
afterEach(() => t.close())

const tokenWith = async (scope: string) =>
  bearer((await t.call('POST /admin/admin-tokens', { name: scope, scopes: [scope] })).body.token)
const open = (body: object = inA, headers?: Record<string, string>) =>
  t.call('POST /admin/nfc/sessions', body, headers)
const answer = (id: string, body: object, headers?: Record<string, string>) =>
  t.call(`POST /admin/nfc/sessions/${id}/answers`, body, headers)

describe('who may', () => {
  test('a token of scope provision sets up, recovers and resets', async () => {
    const headers = await tokenWith('provision')
    const chip = new Chip()
    expect(await talk(t.call, chip.put(), inA, { headers })).toMatchObject({ status: 'provisioned' })
    expect(await talk(t.call, chip.put(), { purpose: 'recover' }, { headers })).toMatchObject({
      status: 'provisioned',
    })
    expect(await talk(t.call, chip.put(), { purpose: 'reset' }, { headers })).toMatchObject({
      status: 'factory',
    })
    expect((await t.call('GET /admin/nfc/journal', undefined, headers)).status).toBe(200)
    expect((await t.audit('action=nfc')).map(({ actor }) => actor)).toEqual(Array(4).fill('admin:provision'))
  })

  test.each(['read', 'edit', 'keys', 'transfer'])('a token of scope %s does not', async (scope) => {
    const headers = await tokenWith(scope)
    const { id, step } = (await open()).body
    expect((await open(inA, headers)).status).toBe(403)
    expect((await answer(id, { step, answers: ['9000'] }, headers)).status).toBe(403)
    expect((await t.call(`DELETE /admin/nfc/sessions/${id}`, undefined, headers)).status).toBe(403)
  })

  test('a session belongs to the token that opened it', async () => {
    const headers = await tokenWith('provision')
    const { id, step } = (await open()).body
    expect((await answer(id, { step, answers: ['9000'] }, headers)).status).toBe(404)
    expect((await t.call(`DELETE /admin/nfc/sessions/${id}`, undefined, headers)).status).toBe(404)
    expect((await answer(id, { step, answers: ['6A82'] })).status).toBe(200)
  })
})

describe('the readers of a table', () => {
  const stations = async () => (await t.call('GET /admin/nfc/stations')).body

  test('are listed one by one, with what they do and did', async () => {
    expect(await stations()).toEqual([])
    const at = (reader: string) => ({ ...inA, station: 'table-1', reader })
    expect(await talk(t.call, new Chip().put(), at('Left'))).toMatchObject({ status: 'provisioned' })
    expect(await talk(t.call, new Chip().put(), at('Left'))).toMatchObject({ status: 'provisioned' })
    const { id } = (await open(at('Right'))).body
    expect(await stations()).toMatchObject([
      { station: 'table-1', reader: 'Right', isBusy: true, phase: 'inspect', counts: { provisioned: 0 } },
      {
        reader: 'Left',
        isBusy: false,
        counts: { provisioned: 2, failed: 0 },
        last: { status: 'provisioned' },
      },
    ])
    await t.call(`DELETE /admin/nfc/sessions/${id}`)
    expect((await stations())[0]).toMatchObject({ reader: 'Right', isBusy: false, phase: null })
    clock.advance('25h')
    expect(await stations()).toEqual([])
  })
})

describe('a session', () => {
  test('goes step by step: an answer that is not its turn is refused, and changes nothing', async () => {
    const chip = new Chip()
    const card = chip.put()
    const first = (await open()).body
    expect((await answer(first.id, { step: first.step + 1, answers: ['9000'] })).status).toBe(409)
    expect((await answer(first.id, { step: first.step, details: {} })).status).toBe(409)
    expect((await answer(first.id, { step: first.step })).status).toBe(400)
    expect((await answer(first.id, { step: first.step, answers: ['xyz'] })).status).toBe(400)
    const answers = await answersOf(card, first.next.apdus)
    const failed = { outcome: { status: 'failed', code: 'invalid_input' } }
    const tooMany = { step: first.step, answers: [...answers, '9000'] }
    expect((await answer(first.id, tooMany)).body.next).toMatchObject(failed)
    const second = (await open()).body
    const tooFew = { step: second.step, answers: answers.slice(0, -1) }
    expect((await answer(second.id, tooFew)).body.next).toMatchObject(failed)
  })

  test('takes an answer once, if ten arrive at the same time', async () => {
    const card = new Chip().put()
    const first = (await open()).body
    const answers = await answersOf(card, first.next.apdus)
    expect(await tenTimes(() => answer(first.id, { step: first.step, answers }))).toEqual({
      200: 1,
      409: 9,
    })
  })

  test('waits for what the chip is to get, once it knows the chip', async () => {
    const chip = new Chip()
    const card = chip.put()
    let at = (await open({ ...inA, waitForDetails: true })).body
    while (at.next.type === 'apdus') {
      const answers = await answersOf(card, at.next.apdus)
      at = (await answer(at.id, { step: at.step, answers })).body
    }
    expect(at.next).toEqual({
      type: 'inspected',
      uid: chip.uid,
      isBlank: true,
      hasOpenPlan: false,
      registered: null,
      row: null,
      sheet: null,
    })
    expect((await answer(at.id, { step: at.step, answers: ['9000'] })).status).toBe(409)
    at = (await answer(at.id, { step: at.step, details: { label: 'J-9' } })).body
    while (at.next.type === 'apdus') {
      const answers = await answersOf(card, at.next.apdus)
      at = (await answer(at.id, { step: at.step, answers })).body
    }
    expect(at.next.outcome).toMatchObject({ status: 'provisioned' })
    expect((await t.call(`GET /admin/chips/${chip.uid}`)).body.label).toBe('J-9')
  })

  test('ends when it is closed, when it is idle, and when it takes too long', async () => {
    const closed = (await open()).body
    expect((await t.call(`DELETE /admin/nfc/sessions/${closed.id}`)).status).toBe(200)
    expect((await answer(closed.id, { step: 1, answers: ['9000'] })).status).toBe(404)
    const idle = (await open()).body
    clock.advance('3m')
    expect((await answer(idle.id, { step: 1, answers: ['9000'] })).status).toBe(404)
  })

  test('is one of a bounded number', async () => {
    for (let i = 0; i < 64; i += 1) expect((await open()).status).toBe(200)
    const refused = await open()
    expect(refused.status).toBe(429)
    // Of clients that died before they had a chip.
    clock.advance('2s')
    for (let i = 0; i < 64; i += 1) expect((await open()).status).toBe(200)
    expect((await open()).status).toBe(429)
  })

  test('says what is wrong with a request before any card is asked for', async () => {
    expect((await open({ purpose: 'provision' })).status).toBe(400)
    expect((await open({ ...inA, keySet: 999 })).status).toBe(404)
    expect((await open({ ...inA, chipGroup: '77' })).status).toBe(404)
    expect((await open({ ...inA, team: undefined })).body.code).toBe('team_required')
    const verifying = await open({ ...inA, keySet: keySets.verifying.id })
    expect(verifying).toMatchObject({ status: 409 })
    expect(verifying.body.message).toContain('no application master key')
  })

  test('with nonsense for a card ends with what the card seems to be', async () => {
    const { id, step } = (await open({ ...inA, atr: '3B8F8001804F0CA000000306030001000000006A' })).body
    await answer(id, { step, answers: ['6A82'] })
    const ended = (await answer(id, { step: step + 1, answers: ['6A82'] })).body.next
    expect(ended.outcome).toMatchObject({ status: 'failed', code: 'NotNtag424', uid: null })
    expect(ended.outcome.error).toContain('MIFARE Classic 1K')
  })
})

describe('ten sessions at once', () => {
  test('on chips of one UID: one has it, and the others are told', async () => {
    const uid = Buffer.from('04112233445566', 'hex')
    const chips = Array.from({ length: 10 }, () => new Chip(uid))
    const ended = await Promise.all(chips.map((chip) => talk(t.call, chip.put(), inA)))
    expect(ended.filter(({ status }) => status === 'provisioned')).toHaveLength(1)
    expect(ended.filter(({ code }) => code === 'chip_busy')).toHaveLength(9)
    expect(chips.filter(({ versions }) => versions[0] === 1)).toHaveLength(1)
    expect(chips.filter(({ versions }) => versions.every((version) => version === 0))).toHaveLength(9)
    expect((await t.call('GET /admin/nfc/journal?all=true')).body).toHaveLength(1)
  })

  test.each([2, 3, 4, 5, 6, 7, 8])(
    'a second one whose commands come between those of the first at step %i leaves the chip recoverable',
    async (at) => {
      const chip = new Chip()
      await talk(t.call, chip.put(), inA, {
        onStep: async ({ body }) => {
          if (body.step !== at) return
          expect(await talk(t.call, chip.put(), inA)).toMatchObject({ status: 'failed', code: 'chip_busy' })
        },
      })
      expect(await talk(t.call, chip.put(), { purpose: 'recover' })).toMatchObject({ status: 'provisioned' })
      expect(chip.failedAuthentications).toBeLessThan(10)
      expect((await t.app.inject({ url: await chip.tapPath() })).statusCode).toBe(200)
    },
  )

  test('of one station: the last one has it, and the others are told who took it', async () => {
    const uid = Buffer.from('04112233445577', 'hex')
    const chips = Array.from({ length: 10 }, () => new Chip(uid))
    const ended = await Promise.allSettled(chips.map((chip) => talk(t.call, chip.put(), atDesk)))
    const done = ended.flatMap((one) => (one.status === 'fulfilled' ? [one.value.status] : []))
    expect(done).toEqual(['provisioned'])
    for (const one of ended)
      if (one.status === 'rejected') expect(String(one.reason)).toContain('took this chip over')
    expect((await t.call('GET /admin/nfc/journal')).body).toEqual([])
  })

  const atDesk = { ...inA, station: 'desk' }
  /** A client that dies once the chip's setup has begun. */
  const abandoned = async (chip: Chip, body: object) => {
    const card = chip.put()
    let at = (await open(body)).body
    while (at.next.phase === 'inspect') {
      const answers = await answersOf(card, at.next.apdus)
      at = (await answer(at.id, { step: at.step, answers })).body
    }
    card.lift()
    return at
  }

  test('a dead client holds its own station up for no time, and others for two seconds', async () => {
    const chip = new Chip()
    const first = await abandoned(chip, atDesk)
    const busy = { status: 'failed', code: 'chip_busy' }
    expect(await talk(t.call, chip.put(), inA)).toMatchObject(busy)
    expect(await talk(t.call, chip.put(), { ...inA, station: 'table' })).toMatchObject(busy)
    // The ID is no secret: only the token that opened a session may end it.
    const headers = await tokenWith('provision')
    expect(await talk(t.call, chip.put(), atDesk, { headers })).toMatchObject(busy)
    expect(await talk(t.call, chip.put(), atDesk)).toMatchObject({ status: 'provisioned' })
    const late = await answer(first.id, { step: first.step, answers: ['9100'] })
    expect(late).toMatchObject({ status: 409 })
    expect(late.body.message).toContain('took this chip over')

    const second = new Chip()
    await abandoned(second, atDesk)
    expect(await talk(t.call, second.put(), inA)).toMatchObject({ code: 'chip_busy' })
    expect((await t.call(`DELETE /admin/nfc/journal/${second.uid}`)).status).toBe(409)
    await ageLeases(t.ctx.db, 2000)
    expect(await talk(t.call, second.put(), { purpose: 'recover' })).toMatchObject({ status: 'provisioned' })
    expect((await t.audit('action=nfc.stopped')).map(({ target }) => target)).toEqual([second.uid, chip.uid])
  })

  test('another chip of one station does not lose its label to a second one', async () => {
    const labelled = { ...atDesk, label: 'J-77' }
    const first = await abandoned(new Chip(), labelled)
    await ageLeases(t.ctx.db, 5000)
    expect(await talk(t.call, new Chip().put(), labelled)).toMatchObject({ code: 'chip_busy' })
    await ageLeases(t.ctx.db, 5000)
    expect(await talk(t.call, new Chip().put(), labelled)).toMatchObject({ status: 'provisioned' })
    // It lost the label, and not its chip.
    expect((await answer(first.id, { step: first.step, answers: [] })).status).toBe(200)
  })

  test('on ten chips work side by side', async () => {
    const chips = Array.from({ length: 10 }, () => new Chip())
    const ended = await Promise.all(chips.map((chip) => talk(t.call, chip.put(), inA)))
    expect(ended.map(({ status }) => status)).toEqual(Array(10).fill('provisioned'))
  })
})

test('keys and taps are in no answer, no log line, no audit line and no journal', async () => {
  const seen: string[] = []
  const listening: typeof t.call = async (...call) => {
    const answered = await t.call(...call)
    seen.push(answered.text)
    return answered
  }
  const taps: string[] = []
  const keys = new Set(masterKeys)
  const remember = (chip: Chip) => {
    for (const key of chip.keys) if (!/^0+$/.test(key)) keys.add(key)
  }
  for (const set of [keySets.a, keySets.b, keySets.one]) {
    const chip = new Chip()
    await talk(listening, chip.put(), { ...inA, keySet: set.id })
    remember(chip)
    await talk(listening, chip.put(), { ...inA, keySet: set.id })
    await talk(listening, chip.put(), { ...inA, keySet: keySets.a.id, rekey: true })
    remember(chip)
    taps.push(...new URL(await chip.tap()).searchParams.values())
    await talk(listening, chip.put(), { purpose: 'recover' })
    await talk(listening, chip.put(), { purpose: 'reset' })
  }
  seen.push((await t.call('GET /admin/nfc/journal?all=true')).text)
  seen.push((await t.call('GET /admin/audit?limit=1000')).text)
  seen.push(JSON.stringify(await t.ctx.db.read.selectFrom('nfcPlans').selectAll().execute()))
  const all = [...seen, ...logged].join('\n')
  expect(logged.length).toBeGreaterThan(80)
  expect(all.length).toBeGreaterThan(10_000)
  expect(keys.size).toBeGreaterThan(20)
  for (const key of keys) {
    expect(all.toLowerCase()).not.toContain(key.toLowerCase())
    expect(all).not.toContain(Buffer.from(key, 'hex').toString('base64').replace(/=+$/, ''))
  }
  for (const part of taps.filter((value) => value.length >= 16)) expect(all).not.toContain(part)
  // What stands in an audit line or a journal about a tap is its counter alone.
  expect([...logged].join('\n')).not.toMatch(/[?&](e|c|picc|mac)=/)
})

describe('the base URL, before it is locked into a chip', () => {
  const from = (baseUrl: string, answer?: { status: number; body: object } | Error) => {
    const asked: string[] = []
    Object.assign(t.ctx, {
      baseUrl,
      outbound: {
        request: async ({ url }: { url: string }) => {
          asked.push(url)
          if (!answer || answer instanceof Error) throw answer ?? new Error('nobody is to ask')
          return { status: answer.status, headers: {}, body: Buffer.from(JSON.stringify(answer.body)) }
        },
      },
    })
    return asked
  }
  const careful = { ...inA, acceptUrl: false }
  const refusal = async () => {
    const answered = await open(careful)
    expect(answered.status).toBe(409)
    expect(answered.body.message).toContain('--accept-url')
    return answered.body.message
  }

  test.each([
    ['http://127.0.0.1:8484', /loopback/],
    ['https://localhost', /loopback/],
    ['https://[::1]:8484', /loopback/],
    ['http://tap.example', /not https/],
  ])('%s is refused without asking anybody', async (url, why) => {
    from(url)
    expect(await refusal()).toMatch(why)
  })

  test('is refused where nobody answers, another daemon does, or something else', async () => {
    from('https://tap.example', new Error('https://tap.example is not on the public internet (private)'))
    expect(await refusal()).toMatch(/could not be reached.*not on the public internet/)
    from('https://tap.example', { status: 200, body: { instance: 'another' } })
    expect(await refusal()).toMatch(/is not this daemon/)
    from('https://tap.example', { status: 200, body: [] })
    expect(await refusal()).toMatch(/is not this daemon/)
    from('https://tap.example', { status: 301, body: {} })
    expect(await refusal()).toMatch(/answers 301/)
  })

  test('is good where this daemon answers, which is asked once a minute', async () => {
    const { instance } = t.ctx
    const asked = from('https://tap.example', { status: 200, body: { instance } })
    const chip = new Chip()
    const ended = await talk(t.call, chip.put(), careful)
    expect(ended.url).toMatch(/^https:\/\/tap\.example\/t\?d=201&e=0+&c=0+$/)
    expect((await open(careful)).status).toBe(200)
    expect(asked).toEqual(['https://tap.example/healthz'])
    clock.advance('2m')
    expect((await open(careful)).status).toBe(200)
    expect(asked).toHaveLength(2)
  })

  test('a private address is refused by the guarded client itself', async () => {
    Object.assign(t.ctx, { baseUrl: 'https://10.0.0.7' })
    expect(await refusal()).toMatch(/not on the public internet/)
  })

  test('is not asked for under --ephemeral, nor of a recovery or a reset', async () => {
    const ephemeral = await openAdminApp({ seed: nfcSeed, env: { TAPCHIP_EPHEMERAL: 'on' } })
    const ended = await talk(ephemeral.call, new Chip().put(), careful)
    expect(ended).toMatchObject({ status: 'provisioned' })
    await ephemeral.close()
    expect((await open({ purpose: 'recover' })).status).toBe(200)
    expect((await open({ purpose: 'reset' })).status).toBe(200)
  })

  test('that is too long for a chip is refused before the first chip', async () => {
    from(`https://${'n'.repeat(60)}.${'n'.repeat(60)}.${'n'.repeat(60)}.example`)
    const answered = await open(inA)
    expect(answered.status).toBe(409)
    expect(answered.body.message).toContain('shorten the base URL')
  })
})
