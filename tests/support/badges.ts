import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { type AdminApp, openAdminApp } from './admin.ts'
import { type Options, testClock } from './daemon.ts'
import { png } from './poap/image-bytes.ts'
import { PoapStandIn } from './poap/stand-in.ts'
import { acmeKey, derived, seed, uids } from './seeds.ts'
import { tap, tapPath } from './taps.ts'

export const wallet = (n: number): string => `0x${n.toString(16).padStart(40, '1')}`

export const eventFields = {
  name: 'Opening night',
  description: 'Doors open at nine.',
  city: 'Lisbon',
  country: 'Portugal',
  startDate: '2026-05-30',
  endDate: '2026-06-02',
  expiryDate: '2026-07-01',
  eventURL: 'https://acme.example/opening',
  privateEvent: 'false',
  requestedCodes: '5',
  virtualEvent: 'false',
}

export type EventFields = Record<string, string | undefined>

export interface FormOptions {
  image?: Uint8Array | null
  filename?: string
  type?: string
  imageFirst?: boolean
}

/** A form as a browser sends it. A field that is undefined is left out. */
export async function eventForm(
  fields: EventFields = {},
  { image = png(), filename = 'badge.png', type = 'image/png', imageFirst = false }: FormOptions = {},
) {
  const form = new FormData()
  const addImage = () => {
    if (image) form.append('image', new Blob([new Uint8Array(image)], { type }), filename)
  }
  if (imageFirst) addImage()
  for (const [name, value] of Object.entries({ ...eventFields, ...fields }))
    if (value !== undefined) form.append(name, value)
  if (!imageFirst) addImage()
  const response = new Response(form)
  return {
    headers: { 'content-type': response.headers.get('content-type') ?? '' },
    payload: Buffer.from(await response.arrayBuffer()),
  }
}

export interface BadgeApp extends AdminApp {
  create(
    fields?: EventFields,
    options?: FormOptions & { key?: string; headers?: Record<string, string>; once?: boolean },
    // biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer is what it asserts
  ): Promise<{ status: number; body: any; headers: Record<string, unknown> }>
  assign(body: Record<string, unknown>, key?: string): ReturnType<AdminApp['call']>
  /** A tap of a chip, and the codes that its ref gives, by badge event. */
  codes(uid?: string): Promise<Map<number, string>>
  mint(
    code: string,
    body: Record<string, unknown>,
    headers?: Record<string, string>,
    // biome-ignore lint/suspicious/noExplicitAny: as above
  ): Promise<{ status: number; body: any; headers: Record<string, unknown> }>
  /** Whether a code can still be used. */
  isGood(code: string): Promise<boolean>
}

let counter = 1000

/** A tap that reads a ref of its own: the tap page's. @returns the ref's answer */
export async function tapRef(app: FastifyInstance, uid: string) {
  const page = await app.inject({ url: tapPath(tap(derived, { uid }, ++counter)) })
  const ref =
    /data-ref="([^"]+)"/.exec(page.body)?.[1] ?? /svcRef=([\w-]{21})/.exec(String(page.headers.location))?.[1]
  return (await app.inject({ url: `/refs/${ref}` })).json()
}

/** The application, with calls for badge events. Its clock stands at noon of 1 June 2026. */
export async function openBadgeApp(options: Options = {}): Promise<BadgeApp> {
  const test = await openAdminApp({ seed, clock: testClock(), ...options })
  return withBadges(test)
}

export function withBadges(test: AdminApp): BadgeApp {
  const create: BadgeApp['create'] = async (
    fields = {},
    { key = acmeKey, headers = {}, once = false, ...form } = {},
  ) => {
    const made = await eventForm(fields, form)
    const answer = await test.app.inject({
      method: 'POST',
      url: once ? '/badge-events?once=true' : '/badge-events',
      headers: { 'x-svc-api-key': key, ...made.headers, ...headers },
      payload: made.payload,
    })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }
  const mint: BadgeApp['mint'] = async (code, body, headers = {}) => {
    const answer = await test.app.inject({
      method: 'POST',
      url: '/badge-events/mint',
      headers: { 'x-svc-code': code, ...headers },
      payload: body,
    })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }
  return {
    ...test,
    create,
    mint,
    assign: (body, key = acmeKey) => test.call('POST /badge-events/assign', body, { 'x-svc-api-key': key }),
    codes: async (uid = uids.blank) => {
      const { badgeEvents } = await tapRef(test.app, uid)
      return new Map(badgeEvents.map(({ id, otp }: { id: number; otp: string }) => [id, otp]))
    },
    isGood: async (code) => (await test.call(`GET /otps/${code}`)).body.isExpired === false,
  }
}

/** An event of the embedded provider on a chip, ready to be minted. @returns its ids, and a code for each tap */
export async function openEvent(t: BadgeApp, fields: EventFields = {}, uid: string = uids.blank) {
  const { body } = await t.create(fields)
  await t.assign({ poapEventId: body.id, tagUID: uid })
  const code = async (): Promise<string> => (await t.codes(uid)).get(body.id) ?? ''
  return { id: body.id as number, upstreamId: body.poapResponse.id as number, code }
}

/** The settings of a stand-in of POAP, as the environment has them. */
export const poapEnv = (poap: PoapStandIn, more: Record<string, string> = {}): Record<string, string> => ({
  TAPCHIP_BADGE_PROVIDER: 'poap',
  TAPCHIP_POAP_URL: poap.url,
  TAPCHIP_POAP_AUTH_URL: poap.config.authUrl,
  TAPCHIP_POAP_API_KEY: poap.config.apiKey,
  TAPCHIP_POAP_CLIENT_ID: poap.config.clientId,
  TAPCHIP_POAP_CLIENT_SECRET: poap.config.clientSecret,
  TAPCHIP_POAP_AUDIENCE: poap.config.audience,
  TAPCHIP_POAP_EMAIL: poap.config.email,
  TAPCHIP_POAP_TIMEOUT_MS: '1000',
  ...more,
})

/** The whole application on a stand-in of POAP, both on one clock. */
export async function openPoapApp(options: Options & { poap?: PoapStandIn } = {}) {
  const clock = testClock()
  const poap = options.poap ?? (await PoapStandIn.open(() => clock.now()))
  if (!options.poap) onTestFinished(() => poap.close().catch(() => undefined))
  const t = await openBadgeApp({ clock, ...options, env: poapEnv(poap, options.env) })
  onTestFinished(() => t.close().catch(() => undefined))
  const event = async (fields: EventFields = {}, uid: string = uids.blank) => {
    const { body } = await t.create(fields)
    await t.assign({ poapEventId: body.id, tagUID: uid })
    const codes = poap.approve(body.poapResponse.id)
    await t.ctx.badges.tick()
    const code = async (): Promise<string> => (await t.codes(uid)).get(body.id) ?? ''
    return { id: body.id as number, upstreamId: body.poapResponse.id as number, codes, code }
  }
  return { ...t, poap, clock, event }
}
