import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { isClaimOf, ownerOf, type UpstreamEvent } from '../../src/daemon/badges/provider.ts'
import { alice, bob, imageOf, newEvent, openPoapClient, secretCode } from '../support/poap/client.ts'
import { gif, png } from '../support/poap/image-bytes.ts'
import type { DateStyle } from '../support/poap/wire.ts'

const day = 24 * 3_600_000

test('an account that POAP accepts has no trouble; a wrong secret and a POAP out of reach have', async () => {
  const { poap, provider } = await openPoapClient()
  expect(await provider.trouble()).toBe(undefined)
  expect(poap.count('GET /health-check')).toBe(1)
  const wrong = await openPoapClient({ clientSecret: 'wrong' })
  expect(await wrong.provider.trouble()).toMatch(/token/)
  await poap.close()
  expect(await provider.trouble()).toBeTypeOf('string')
})

describe('creating an event', () => {
  test('sends what the interface carries, and the e-mail and the secret code that it does not', async () => {
    const { poap, provider } = await openPoapClient()
    const image = png(64, 64)
    const created = await provider.create(newEvent, imageOf(image), secretCode)
    if (created.kind !== 'created') throw new Error(created.kind)
    const stored = poap.event(created.upstreamId)
    expect(stored.fields).toEqual({
      name: 'Opening',
      description: 'Doors open at nine.',
      city: 'Buenos Aires',
      country: 'Argentina',
      start_date: '2026-03-01',
      end_date: '2026-03-02',
      expiry_date: '2026-04-01',
      event_url: 'https://tapchip.example/opening',
      virtual_event: 'false',
      private_event: 'true',
      requested_codes: '5',
      email: poap.config.email,
      secret_code: secretCode,
    })
    expect(stored.image).toEqual({ type: 'image/png', size: image.length })
    expect(created).toMatchObject({ upstreamId: stored.id, approval: 'pending' })
  })

  test('answers in the shape of the interface, whatever dates POAP writes', async () => {
    const { poap, provider } = await openPoapClient()
    for (const dates of ['DD-Mon-YYYY', 'MM-DD-YYYY', 'YYYY-MM-DD', 'ISO'] satisfies DateStyle[]) {
      for (const events of ['live', 'documented'] as const) {
        Object.assign(poap.style, { dates, events })
        const created = await provider.create(newEvent, imageOf(gif(), 'image/gif'), secretCode)
        if (created.kind !== 'created') throw new Error(created.kind)
        expect(created.response).toEqual({
          id: created.upstreamId,
          fancy_id: 'opening-2026',
          name: 'Opening',
          description: 'Doors open at nine.',
          city: 'Buenos Aires',
          country: 'Argentina',
          event_url: 'https://tapchip.example/opening',
          image_url: `https://assets.poap.xyz/${created.upstreamId}.gif`,
          animation_url: '',
          year: 2026,
          start_date: '03-01-2026',
          end_date: '03-02-2026',
          expiry_date: '04-01-2026',
          from_admin: false,
          virtual_event: false,
          event_template_id: events === 'live' ? 0 : 1,
          private_event: true,
        })
      }
    }
  })

  test('what POAP refuses is refused with its words', async () => {
    const { provider } = await openPoapClient()
    const long = await provider.create({ ...newEvent, name: 'x'.repeat(257) }, imageOf(png()), secretCode)
    expect(long).toEqual({
      kind: 'refused',
      status: 400,
      message: 'body/name should NOT have more than 256 characters',
    })
    const past = await provider.create({ ...newEvent, endDate: '2026-02-01' }, imageOf(png()), secretCode)
    expect(past).toMatchObject({ kind: 'refused', message: 'end_date must be after start_date' })
  })
})

describe('approval', () => {
  const upstream = (upstreamId: number, createdAt: number): UpstreamEvent => ({
    upstreamId,
    secretCode,
    requestedCodes: 5,
    createdAt,
  })
  const openPending = async () => {
    const opened = await openPoapClient()
    const created = await opened.provider.create(newEvent, imageOf(png()), secretCode)
    if (created.kind !== 'created') throw new Error(created.kind)
    return { ...opened, event: upstream(created.upstreamId, opened.now()) }
  }

  test('pending until people decided, then approved with all codes', async () => {
    const { poap, provider, advance, event } = await openPending()
    expect(await provider.approval(event)).toEqual({ kind: 'pending' })
    advance(3 * day)
    expect(await provider.approval(event)).toEqual({ kind: 'pending' })
    const codes = poap.approve(event.upstreamId)
    expect(codes).toHaveLength(5)
    expect(await provider.approval(event)).toEqual({
      kind: 'approved',
      codes: codes.map((code) => ({ code, claimed: false })),
    })
  })

  test('a few codes are no approval while the request is open, and one once it is closed', async () => {
    const { poap, provider, event } = await openPending()
    poap.ledger.giveCodes(poap.event(event.upstreamId), 2)
    expect(await provider.approval(event)).toEqual({ kind: 'pending' })
    poap.approve(event.upstreamId, 3)
    const approved = await provider.approval(event)
    expect(approved.kind === 'approved' && approved.codes).toHaveLength(3)
  })

  test('rejected: no request is open any more, no code came, and a day went by', async () => {
    const { poap, provider, advance, event } = await openPending()
    poap.reject(event.upstreamId)
    expect(await provider.approval(event)).toEqual({ kind: 'pending' })
    advance(day)
    expect(await provider.approval(event)).toEqual({ kind: 'rejected' })
    // People change their minds.
    poap.approve(event.upstreamId)
    expect(await provider.approval(event)).toMatchObject({ kind: 'approved' })
  })

  test('rejected: POAP has it no more', async () => {
    const { poap, provider, event } = await openPending()
    poap.ledger.events.delete(event.upstreamId)
    expect(await provider.approval(event)).toEqual({ kind: 'rejected' })
  })

  test('with another secret code: refused', async () => {
    const { provider, event } = await openPending()
    const answer = await provider.approval({ ...event, secretCode: '999999' })
    expect(answer).toEqual({ kind: 'refused', status: 400, message: 'Incorrect edit code' })
  })
})

describe('claiming', () => {
  test('by address, ENS name and e-mail; only who gave an email address is written to', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { codes } = await openEvent()
    const recipients = [alice, 'poap.eth', 'carol@tapchip.example']
    for (const [index, recipient] of recipients.entries()) {
      const code = codes[index] ?? ''
      expect(await provider.lookUp(code)).toEqual({ kind: 'unclaimed' })
      expect(await provider.claim(code, recipient)).toEqual({ kind: 'claimed' })
      const found = await provider.lookUp(code)
      if (found.kind !== 'claimed') throw new Error(found.kind)
      expect(isClaimOf(found, recipient.toUpperCase().replace('0X', '0x'))).toBe(true)
      expect(isClaimOf(found, bob)).toBe(false)
    }
    const claims = codes.slice(0, 3).map((code) => poap.code(code).claim)
    expect(claims.map((claim) => claim?.sendEmail)).toEqual([false, false, true])
    expect(claims[1]).toMatchObject({ input: 'poap.eth', beneficiary: poap.ledger.names.get('poap.eth') })
  })

  test('a code that was claimed is told from a recipient who has the badge', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code, second } = await openEvent()
    await provider.claim(code, alice)
    expect(await provider.claim(code, bob)).toEqual({ kind: 'already-claimed' })
    // The look-up told: nothing was posted.
    expect(poap.count('POST /actions/claim-qr')).toBe(1)
    expect(await provider.claim(second, alice)).toEqual({
      kind: 'already-minted-by-recipient',
      message: 'You already minted a POAP for this drop.',
    })
    expect(poap.code(second).claim).toBeUndefined()
  })

  test.each([
    [alice, {}, 'unsaid'],
    [alice, { input: alice.toUpperCase().replace('0X', '0x') }, 'recipient'],
    [alice, { input: bob }, 'other'],
    [alice, { beneficiary: bob }, 'other'],
    [alice, { input: 'poap.eth', beneficiary: alice }, 'recipient'],
    [alice, { input: 'carol@tapchip.example' }, 'other'],
    ['poap.eth', { beneficiary: bob }, 'unsaid'],
    ['poap.eth', { input: bob, beneficiary: bob }, 'unsaid'],
    ['poap.eth', { input: 'other.eth', beneficiary: bob }, 'other'],
    ['carol@tapchip.example', { beneficiary: bob }, 'unsaid'],
    ['carol@tapchip.example', { input: 'c***l@tapchip.example' }, 'unsaid'],
    ['carol@tapchip.example', { input: 'dave@tapchip.example' }, 'other'],
  ])('sent for %s and claimed by %j: %s', (recipient, names, owner) => {
    expect(ownerOf({ kind: 'claimed', transaction: { kind: 'none' }, ...names }, recipient)).toBe(owner)
  })

  test('a code that is not active is told before anything is sent', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    poap.code(code).isActive = false
    const sent: string[] = []
    const sending = async () => void sent.push('now')
    expect(await provider.claim(code, alice, sending)).toMatchObject({ kind: 'inactive' })
    expect([poap.count('POST /actions/claim-qr'), sent.length]).toEqual([0, 0])
    poap.code(code).isActive = true
    const refusing = () => Promise.reject(new Error('no disk'))
    await expect(provider.claim(code, alice, refusing)).rejects.toThrow('no disk')
    expect(poap.count('POST /actions/claim-qr')).toBe(0)
    expect(await provider.claim(code, alice, sending)).toEqual({ kind: 'claimed' })
    expect(sent).toEqual(['now'])
  })

  test('ten at once for one code: one has it', async () => {
    const { provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    const recipients = Array.from({ length: 10 }, (_, index) => `0x${String(index).repeat(40)}`)
    const results = await Promise.all(recipients.map((recipient) => provider.claim(code, recipient)))
    expect(results.filter(({ kind }) => kind === 'claimed')).toHaveLength(1)
    expect(results.filter(({ kind }) => kind === 'already-claimed')).toHaveLength(9)
  })

  test('an address that is none, an event that is over, a code that is none', async () => {
    const { provider, advance, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    expect(await provider.claim(code, 'nobody.eth')).toEqual({
      kind: 'refused',
      status: 400,
      message: 'Address is not valid',
    })
    advance(60 * day)
    expect(await provider.claim(code, alice)).toMatchObject({ kind: 'refused', message: 'QR Claim expired' })
    expect(await provider.claim('zzzzzz', alice)).toEqual({ kind: 'no-such-code' })
    expect(await provider.lookUp('zzzzzz')).toEqual({ kind: 'no-such-code' })
  })

  test("sends each code's own secret back, and what POAP says where there is none", async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code, second } = await openEvent()
    await provider.claim(code, alice)
    poap.style.secrets = 'NOT_REQUIRED_ANYMORE'
    expect(await provider.claim(second, bob)).toEqual({ kind: 'claimed' })
    const secrets = poap.seen
      .filter(({ endpoint }) => endpoint === 'POST /actions/claim-qr')
      .map(({ body }) => JSON.parse(body).secret)
    expect(secrets).toEqual([poap.code(code).secret, 'NOT_REQUIRED_ANYMORE'])
  })

  test('the transaction waits, is pending, is mined; for an e-mail there is none', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code, second } = await openEvent()
    expect(await provider.transaction(code)).toEqual({ kind: 'none' })
    await provider.claim(code, alice)
    await provider.claim(second, 'carol@tapchip.example')
    expect(await provider.transaction(code)).toEqual({ kind: 'pending' })
    poap.mine()
    const hash = poap.code(code).transactions[0]?.tx_hash
    expect(await provider.transaction(code)).toEqual({ kind: 'pending', hash })
    poap.mine()
    expect(await provider.transaction(code)).toEqual({ kind: 'mined', hash })
    expect(await provider.lookUp(code)).toMatchObject({ transaction: { kind: 'mined', hash } })
    expect(await provider.transaction(second)).toEqual({ kind: 'none' })
  })

  test('of several attempts the one that went through counts', async () => {
    const { poap, provider, openEvent } = await openPoapClient()
    const { code } = await openEvent()
    await provider.claim(code, alice)
    const hash = (digit: string) => `0x${digit.repeat(64)}`
    const { transactions } = poap.code(code)
    transactions.splice(0, 1, { tx_hash: hash('a'), status: 'failed' })
    expect(await provider.transaction(code)).toEqual({ kind: 'failed', hash: hash('a') })
    transactions.push({ tx_hash: hash('b'), status: 'bumped' })
    expect(await provider.transaction(code)).toEqual({ kind: 'pending', hash: hash('b') })
    transactions.push({ tx_hash: hash('c'), status: 'passed' })
    expect(await provider.transaction(code)).toEqual({ kind: 'mined', hash: hash('c') })
  })
})

test('the key goes to the API alone, the token to what needs it', async () => {
  const { poap, provider, openEvent } = await openPoapClient()
  const { id, code } = await openEvent()
  await provider.approval({ upstreamId: id, secretCode, requestedCodes: 9, createdAt: 0 })
  await provider.claim(code, alice)
  await provider.transaction(code)
  const withToken = new Set(
    poap.seen.filter(({ headers }) => headers.authorization).map(({ endpoint }) => endpoint),
  )
  expect([...withToken].sort()).toEqual([
    'GET /actions/claim-qr',
    'GET /transactions',
    'POST /actions/claim-qr',
    'POST /event/{id}/qr-codes',
  ])
  for (const { endpoint, headers } of poap.seen)
    expect(headers['x-api-key'], endpoint).toBe(
      endpoint === 'POST /oauth/token' ? undefined : poap.config.apiKey,
    )
})

test('the bodies of the reference are read', async () => {
  const { poap, provider } = await openPoapClient()
  const fixture = (name: string) => JSON.parse(readFileSync(`fixtures/poap/${name}.json`, 'utf8'))
  const answerWith = (endpoint: string, status: number, body: unknown) =>
    poap.fail(endpoint, { when: 'before', answer: { status, body: JSON.stringify(body) } })

  for (const name of ['event-documented', 'event-live']) {
    answerWith('POST /events', 200, fixture(name))
    const created = await provider.create(newEvent, imageOf(png()), secretCode)
    expect(created).toMatchObject({
      upstreamId: 16947,
      response: { start_date: '07-18-2022', expiry_date: '08-31-2022' },
    })
  }
  answerWith('POST /event/{id}/qr-codes', 200, fixture('qr-codes'))
  expect(await provider.approval({ upstreamId: 1, secretCode, requestedCodes: 2, createdAt: 0 })).toEqual({
    kind: 'approved',
    codes: [
      { code: '2abwt1', claimed: false },
      { code: 'x9k3m2', claimed: true },
    ],
  })
  answerWith('GET /actions/claim-qr', 200, fixture('claim-look-up'))
  const { tx_hash: hash } = fixture('claim-look-up')
  expect(await provider.lookUp('2abwt1')).toEqual({
    kind: 'claimed',
    input: 'poap.eth',
    beneficiary: '0x8f282529AaB18D3B2Ce68d55b2a1bC2A0B3e9b47',
    transaction: { kind: 'mined', hash },
  })
  answerWith('GET /transactions', 200, fixture('transactions'))
  expect(await provider.transaction('2abwt1')).toEqual({ kind: 'mined', hash })

  const errors = fixture('errors')
  const unclaimed = { ...fixture('claim-look-up'), claimed: false }
  const claimed = async (name: string, status: number) => {
    answerWith('GET /actions/claim-qr', 200, unclaimed)
    answerWith('POST /actions/claim-qr', status, errors[name] ?? fixture(name))
    return provider.claim('2abwt1', alice)
  }
  expect(await claimed('claim-answer', 200)).toEqual({ kind: 'claimed' })
  expect(await claimed('claimed', 400)).toEqual({ kind: 'already-claimed' })
  for (const name of ['minted', 'mintedOlder'])
    expect(await claimed(name, 400)).toEqual({
      kind: 'already-minted-by-recipient',
      message: errors[name].message,
    })
  for (const name of ['address', 'expired'])
    expect(await claimed(name, 400)).toEqual({ kind: 'refused', status: 400, message: errors[name].message })
  for (const name of ['gatewayForbidden', 'gatewayDenied'])
    expect(await claimed(name, 403)).toMatchObject({ kind: 'unavailable' })
})
