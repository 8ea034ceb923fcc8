import { readFileSync } from 'node:fs'
import {
  AddressAlreadyMintDropError,
  AuthenticationProviderHttp,
  DropsClient,
  InvalidAddressError,
  MintCodeAlreadyUsedError,
  MintCodeExpiredError,
  MintCodeNotFoundError,
  PoapCompass,
  PoapDropApi,
  PoapsClient,
  PoapTokenApi,
  UnauthorizedClientError,
} from '@poap-xyz/poap-sdk'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { alice, bob } from '../support/poap/client.ts'
import { png } from '../support/poap/image-bytes.ts'
import { PoapStandIn } from '../support/poap/stand-in.ts'

afterEach(() => {
  vi.unstubAllGlobals()
})

/** POAP's own client, for Node, against the stand-in. Nothing of it is replaced but where its host is. */
async function openSdk(secret?: string) {
  let now = Date.parse('2026-03-01T12:00:00Z')
  const poap = await PoapStandIn.open(() => now)
  onTestFinished(() => poap.close())
  const { apiKey, clientId, clientSecret, audience } = poap.config
  const realFetch = globalThis.fetch
  // It takes the name of a token host, and calls that with https.
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) =>
    realFetch(url.replace('https://auth.accounts.poap.xyz', poap.url), init),
  )
  // Its token is for its base URL; ours is for the audience that POAP gave out with the credentials.
  const http = new AuthenticationProviderHttp(clientId, secret ?? clientSecret)
  const authenticationProvider = { getAuthToken: () => http.getAuthToken(audience) }
  const tokenApi = new PoapTokenApi({ apiKey, baseUrl: poap.url, authenticationProvider })
  const compass = new PoapCompass({ apiKey })
  return {
    poap,
    tokenApi,
    drops: new DropsClient(compass, new PoapDropApi({ apiKey, baseUrl: poap.url })),
    poaps: new PoapsClient(compass, tokenApi, { maxRetries: 5, initialDelay: 1, backoffFactor: 1 }),
    advance: (ms: number) => {
      now += ms
    },
  }
}

type Sdk = Awaited<ReturnType<typeof openSdk>>

const createDrop = ({ drops }: Sdk) =>
  drops.create({
    name: 'My super event to celebrate!',
    description: 'Share the moment.\nWe spend great time together.',
    eventUrl: 'https://poap.xyz',
    city: 'Buenos Aires',
    country: 'Argentina',
    virtualEvent: false,
    privateEvent: true,
    startDate: new Date(2026, 2, 1),
    endDate: new Date(2026, 2, 2),
    expiryDate: new Date(2026, 3, 1),
    secretCode: '123456',
    image: new Blob([new Uint8Array(png())], { type: 'image/png' }),
    filename: 'artwork.png',
    contentType: 'image/png',
    email: 'issuer@tapchip.example',
    requestedCodes: 3,
  })

async function openDrop() {
  const sdk = await openSdk()
  const drop = await createDrop(sdk)
  const [first = '', second = '', third = ''] = sdk.poap.approve(drop.id)
  return { ...sdk, drop, first, second, third }
}

describe("POAP's own client", () => {
  test('creates an event, and reads what it is answered', async () => {
    const sdk = await openSdk()
    const drop = await createDrop(sdk)
    expect(drop).toMatchObject({
      name: 'My super event to celebrate!',
      city: 'Buenos Aires',
      dropUrl: 'https://poap.xyz',
      year: 2026,
      private: true,
      timezone: 'UTC',
    })
    expect([drop.startDate, drop.endDate, drop.expiryDate].map((date) => date.toDateString())).toEqual([
      'Sun Mar 01 2026',
      'Mon Mar 02 2026',
      'Wed Apr 01 2026',
    ])
    expect(sdk.poap.event(drop.id)).toMatchObject({
      secretCode: '123456',
      requestedCodes: 3,
      days: { start: '2026-03-01', end: '2026-03-02', expiry: '2026-04-01' },
      image: { type: 'image/png' },
    })
  })

  test('mints to an address, and follows the transaction to its end', async () => {
    const { poap, poaps, tokenApi, first } = await openDrop()
    expect(await poaps.getMintCode(first)).toMatchObject({ minted: false, isActive: true })
    await poaps.mintAsync({ mintCode: first, address: alice })
    expect(await tokenApi.getMintTransaction(first)).toBeNull()
    poap.mine()
    expect(await tokenApi.getMintTransaction(first)).toMatchObject({ status: 'pending' })
    poap.mine()
    const { txHash } = await poaps.waitMintStatus(first)
    expect(txHash).toBe(poap.code(first).transactions[0]?.tx_hash)
    expect(await poaps.waitPoapIndexed(first)).toMatchObject({ minted: true, poapId: poap.code(first).token })
    expect(poap.code(first).claim).toMatchObject({ input: alice, sendEmail: false })
  })

  test('reserves one for an email address', async () => {
    const { poap, poaps, tokenApi, drop, first } = await openDrop()
    const reservation = await poaps.emailReservation({ mintCode: first, email: 'carol@tapchip.example' })
    expect(reservation).toMatchObject({ email: 'carol@tapchip.example', dropId: drop.id, name: drop.name })
    expect(poap.code(first).claim).toMatchObject({ sendEmail: true })
    expect(await tokenApi.getMintTransaction(first)).toBeNull()
  })

  test('knows each refusal by its words', async () => {
    const { poaps, tokenApi, first, second, advance } = await openDrop()
    const post = (qr_hash: string, address: string) =>
      tokenApi.postMintCode({ qr_hash, address, sendEmail: false })
    await post(first, alice)
    await expect(post(first, bob)).rejects.toBeInstanceOf(MintCodeAlreadyUsedError)
    await expect(post(second, alice)).rejects.toBeInstanceOf(AddressAlreadyMintDropError)
    await expect(post(second, 'nobody.eth')).rejects.toBeInstanceOf(InvalidAddressError)
    await expect(post('zzzzzz', bob)).rejects.toBeInstanceOf(MintCodeNotFoundError)
    await expect(poaps.getMintCode('zzzzzz')).rejects.toBeInstanceOf(MintCodeNotFoundError)
    await expect(poaps.mintAsync({ mintCode: first, address: bob })).rejects.toBeInstanceOf(
      MintCodeAlreadyUsedError,
    )
    advance(60 * 24 * 3_600_000)
    await expect(tokenApi.getMintCode(second)).rejects.toThrow('Unexpected response 401')
  })

  test('knows a code that is over', async () => {
    const sdk = await openDrop()
    sdk.poap.tokenLifeSeconds = 365 * 86_400
    sdk.advance(60 * 24 * 3_600_000)
    const post = sdk.tokenApi.postMintCode({ qr_hash: sdk.second, address: bob, sendEmail: false })
    await expect(post).rejects.toBeInstanceOf(MintCodeExpiredError)
  })

  test('gets no token with another secret', async () => {
    const { tokenApi } = await openSdk('another')
    await expect(tokenApi.getMintCode('zzzzzz')).rejects.toBeInstanceOf(UnauthorizedClientError)
  })
})

describe('the stand-in', () => {
  const shape = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.length === 0 ? [] : [shape(value[0])]
    if (typeof value !== 'object' || value === null) return value === null ? 'nothing' : typeof value
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shape(inner)]))
  }
  const fixture = (name: string) => JSON.parse(readFileSync(`fixtures/poap/${name}.json`, 'utf8'))

  test('answers in the shapes of the reference', async () => {
    const { poap, tokenApi, drop, first } = await openDrop()
    const { url } = poap
    const token = fixture('token')
    const headers = { 'x-api-key': poap.config.apiKey, 'content-type': 'application/json' }
    const { audience, clientId: client_id, clientSecret: client_secret } = poap.config
    const body = JSON.stringify({ audience, client_id, client_secret, grant_type: 'client_credentials' })
    const answer = await fetch(`${url}/oauth/token`, { method: 'POST', headers, body })
    const given = (await answer.json()) as { access_token: string }
    expect(shape(given)).toEqual(shape(token))
    const authorization = `Bearer ${given.access_token}`
    const call = async (method: string, path: string, json?: unknown) => {
      const sent = json === undefined ? {} : { body: JSON.stringify(json) }
      return (await fetch(url + path, { method, headers: { ...headers, authorization }, ...sent })).json()
    }

    const event = await call('GET', `/events/id/${drop.id}`)
    expect(shape(event)).toEqual(shape(fixture('event-live')))
    poap.style.events = 'documented'
    expect(shape(await call('GET', `/events/id/${drop.id}`))).toEqual(shape(fixture('event-documented')))
    poap.style.events = 'live'
    const codes = (await call('POST', `/event/${drop.id}/qr-codes`, { secret_code: '123456' })) as {
      qr_hash: string
    }[]
    expect(shape(codes)).toEqual(shape(fixture('qr-codes')))
    expect(await call('POST', '/event/validate', { event_id: drop.id, secret_code: '123456' })).toEqual({
      valid: true,
    })
    expect(await call('POST', '/event/validate', { event_id: drop.id, secret_code: '654321' })).toEqual({
      valid: false,
    })

    const counted = `/redeem-requests/active/count?event_id=${drop.id}&redeem_type=qr_code`
    expect(await call('GET', counted)).toEqual([])
    const more = { event_id: drop.id, requested_codes: 2, redeem_type: 'qr_code', secret_code: '123456' }
    expect(shape(await call('POST', '/redeem-requests', more))).toEqual({ id: 'string' })
    expect(shape(await call('GET', counted))).toEqual(shape(fixture('active-requests')))

    const claimed = await tokenApi.postMintCode({ qr_hash: first, address: alice, sendEmail: false })
    expect(shape(claimed)).toEqual(shape(fixture('claim-answer')))
    expect((await fetch(`${url}/actions/scan/${alice}/${drop.id}`, { headers })).status).toBe(404)
    poap.mine()
    poap.mine()
    expect(shape(await tokenApi.getMintCode(first))).toEqual(shape(fixture('claim-look-up')))
    expect(shape(await call('GET', `/transactions?qr_hash=${first}`))).toEqual(shape(fixture('transactions')))
    expect(await call('GET', `/actions/scan/${alice}/${drop.id}`)).toMatchObject({ owner: alice })

    const errors = fixture('errors')
    const refused = (qr_hash: string, address: string) =>
      call('POST', '/actions/claim-qr', { qr_hash, address })
    expect(await refused(first, bob)).toEqual(errors.claimed)
    expect(await refused('zzzzzz', bob)).toEqual(errors.unknownCode)
    const [, second = ''] = codes.map(({ qr_hash }) => qr_hash)
    expect(await refused(second, 'nobody')).toEqual(errors.address)
    expect(await refused(second, alice)).toEqual(errors.minted)
  })

  test('lets nobody in without a key, or without a token where one is needed', async () => {
    const { poap, first } = await openDrop()
    const key = { 'x-api-key': poap.config.apiKey }
    const status = async (path: string, headers: Record<string, string>) =>
      (await fetch(`${poap.url}${path}`, { headers })).status
    expect(await status('/health-check', {})).toBe(403)
    expect(await status('/health-check', key)).toBe(200)
    expect(await status(`/actions/claim-qr?qr_hash=${first}`, key)).toBe(401)
    expect(
      await status(`/actions/claim-qr?qr_hash=${first}`, { ...key, authorization: 'Bearer eyJ.x.sig' }),
    ).toBe(401)
  })

  test.each<[string, (form: FormData) => void]>([
    ['no name', (form) => form.delete('name')],
    ['no e-mail', (form) => form.delete('email')],
    ['no image', (form) => form.delete('image')],
    ['a secret code of five digits', (form) => form.set('secret_code', '12345')],
    ['31 February', (form) => form.set('end_date', '2026-02-31')],
    ['an end before the start', (form) => form.set('end_date', '02-28-2026')],
    ['a JPEG', (form) => form.set('image', new File(['\xff\xd8\xff'], 'a.png', { type: 'image/png' }))],
    [
      '4 MB',
      (form) =>
        form.set(
          'image',
          new File([new Uint8Array(png(8, 8, { bytes: 4_194_304 }))], 'a.png', { type: 'image/png' }),
        ),
    ],
  ])('refuses an event with %s', async (_name, change) => {
    const { poap } = await openSdk()
    const form = new FormData()
    const fields = {
      name: 'n',
      description: 'd',
      city: '',
      country: '',
      virtual_event: 'true',
      email: 'a@b.example',
    }
    const dates = {
      start_date: '2026-03-01',
      end_date: '03-02-2026',
      expiry_date: '2026-04-01',
      secret_code: '000000',
    }
    for (const [name, value] of Object.entries({ ...fields, ...dates })) form.set(name, value)
    form.set('image', new File([new Uint8Array(png())], 'a.png', { type: 'image/png' }))
    const send = () =>
      fetch(`${poap.url}/events`, {
        method: 'POST',
        body: form,
        headers: { 'x-api-key': poap.config.apiKey },
      })
    expect((await send()).status).toBe(200)
    change(form)
    const answer = await send()
    expect(answer.status).toBe(400)
    expect(await answer.json()).toMatchObject({
      statusCode: 400,
      error: 'Bad Request',
      message: expect.any(String),
    })
  })
})
