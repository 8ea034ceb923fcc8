import { type IncomingHttpHeaders, request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openTestApp, type TestApp } from '../support/daemon.ts'
import { table } from '../support/hostile-requests.ts'
import { listening, withKey } from '../support/raw-http.ts'
import { acmeKey, derived, otherKey, seed, uids } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// What pages of other origins and the clients of the field send. Over real HTTP: `inject` and `fetch` tidy up paths.

let t: TestApp
let port: number
beforeAll(async () => {
  t = await openTestApp({ seed })
  port = await listening(t)
})
afterAll(() => t.close())

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  text: string
}

const ask = (method: string, path: string, headers: Record<string, string> = {}, body = '') =>
  new Promise<Answer>((resolve, reject) => {
    const length = body === '' ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const call = request(
      { port, method, path, agent: false, headers: { ...headers, ...length } },
      (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text }))
      },
    )
    call.on('error', reject)
    call.end(body)
  })

const origin = 'https://app.example'
const isReadable = ({ headers }: Answer): boolean => headers['access-control-allow-origin'] === '*'
const preflight = (path: string, method: string, wanted = 'x-svc-api-key') =>
  ask('OPTIONS', path, {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': wanted,
  })
const concrete = (path: string): string => path.replace(/:\w+/g, '1')
const ofInterface = table.filter(({ spec }) => spec.part === 'interface')
const token = '/metadata/31337/0x0000000000000000000000000000000000000001/1'

test('a preflight for the interface allows whatever headers the page asks for, without cookies', async () => {
  const wanted =
    'authorization,language,x-source-id,sentry-trace,baggage,traceparent,x-requested-with,cache-control,x-svc-code'
  const paths = ofInterface.map(({ method, path }) => [method, concrete(path)] as const)
  for (const [method, path] of [...paths, ['GET', token], ['POST', '/no/such/path']] as const) {
    const { status, headers } = await preflight(path, method, wanted)
    expect({ path, status, origin: headers['access-control-allow-origin'] }).toEqual({
      path,
      status: 204,
      origin: '*',
    })
    expect(headers['access-control-allow-headers']).toBe(wanted)
    expect(headers['access-control-allow-methods']).toContain(method)
    expect(headers.vary).toContain('access-control-request-headers')
    expect(headers['access-control-allow-credentials']).toBeUndefined()
  }
  const odd = await preflight('/chips', 'GET', 'a/b"c')
  expect(odd.headers['access-control-allow-headers']).toBe(
    'content-type, x-svc-api-key, x-svc-code, idempotency-key',
  )
})

test('a page can read refusals: of hooks, bodies, types, unknown paths, and broken URLs', async () => {
  const json = { origin, 'content-type': 'application/json', ...withKey(acmeKey) }
  const answers: [number, Answer][] = [
    [401, await ask('GET', '/chip-groups', { origin })],
    [401, await ask('GET', '/chip-groups', { origin, ...withKey('svc_wrong') })],
    [404, await ask('GET', '/refs/x', { origin })],
    [404, await ask('GET', '/refs/%zz', { origin })],
    [404, await ask('GET', `/refs/${'x'.repeat(400)}`, { origin })],
    [404, await ask('PUT', '/no/such/path', { origin })],
    [404, await ask('GET', '/', { origin })],
    [404, await ask('GET', token, { origin })],
    [413, await ask('POST', '/events/mint', json, ' '.repeat(2 ** 21))],
    [415, await ask('POST', '/events/mint', { ...json, 'content-type': 'text/plain' }, 'eventId=1')],
    [400, await ask('POST', '/events/mint', json, '{')],
  ]
  expect(answers.map(([, { status }]) => status)).toEqual(answers.map(([status]) => status))
  expect(answers.filter(([, answer]) => !isReadable(answer))).toEqual([])
  expect(JSON.parse(answers[0]?.[1].text ?? '')).toMatchObject({ code: 'api_key_missing' })
})

test('operators, metrics, and tap pages stay closed in every spelling', async () => {
  const spellings = [
    'admin/teams',
    'admin',
    'admin/',
    'admin/no-such',
    'metrics',
    'metrics/',
    't',
    't?e=1',
    't/x',
  ].flatMap((path) => [
    `/${path}`,
    `//${path}`,
    `/.//${path}`,
    `/chips/../${path}`,
    `/chips/%2e%2e/${path}`,
    `/chips/..%2f${path}`,
    `/\\${path}`,
    `/${path.toUpperCase()}`,
    `/%${path.charCodeAt(0).toString(16)}${path.slice(1)}`,
    `/${path}/%zz`,
    `/${path};x`,
  ])
  const others = [
    '/healthz',
    '/readyz',
    '/openapi.json',
    '/HEALTHZ',
    '/chips/batch',
    '/team',
    '/batches/1/report/',
  ]
  for (const path of [...spellings, ...others]) {
    for (const answer of [
      await preflight(path, 'GET'),
      await preflight(path, 'POST', 'authorization'),
      await ask('GET', path, { origin, ...t.admin }),
      await ask('POST', path, { origin, ...t.admin }),
    ]) {
      const granted = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
      expect({ path, granted }).toEqual({ path, granted: [] })
    }
  }
})

test('a JSON body is taken under the types that clients send, and never by /admin', async () => {
  const edit = (redirectUrl: string | null, uid: string = uids.blank) =>
    JSON.stringify({ tagUIDs: [uid], updates: { redirectUrl } })
  const types = [
    'text/plain;charset=UTF-8',
    '',
    'application/x-www-form-urlencoded',
    'application/octet-stream',
  ]
  for (const [index, type] of types.entries()) {
    const url = `https://acme.example/${index}`
    const headers = { ...withKey(acmeKey), ...(type === '' ? {} : { 'content-type': type }) }
    const { status, text } = await ask('PATCH', '/chips', headers, edit(url))
    expect({ type, status, text }).toEqual({ type, status: 200, text: '{"success":true}' })
    const listed = JSON.parse((await ask('GET', '/chips', headers, '{"name":"Jackets"}')).text)
    expect(listed.map((chip: { redirectUrl: string }) => chip.redirectUrl)).toContain(url)

    for (const body of ['{"__proto__":{"a":1}}', `${'['.repeat(100)}${']'.repeat(100)}`, '[1]', '"text"']) {
      const refused = await ask('PATCH', '/chips', headers, body)
      expect({ type, body, status: refused.status }).toEqual({ type, body, status: 400 })
    }
    expect((await ask('PATCH', '/chips', headers, 'tagUIDs=1')).status).toBe(415)
    // Empty is no body, whatever its type.
    expect((await ask('GET', '/chip-groups', headers, '')).status).toBe(200)

    const made = await ask('POST', '/admin/teams', { ...headers, ...t.admin }, '{"name":"From a page"}')
    expect(made.status).toBe(415)
    expect(made.text).toContain('application/json')
  }
  const form = await ask('POST', '/badge-events', { ...withKey(acmeKey), 'content-type': 'text/plain' }, '{}')
  expect(form.status).toBe(415)
  expect(
    await t.ctx.db.read.selectFrom('teams').selectAll().where('name', 'like', 'From%').execute(),
  ).toEqual([])
  await ask('PATCH', '/chips', withKey(acmeKey), edit(null))
})

/**
 * The whole database as text, in no order of rows (PostgreSQL's changes when a row is written), but for when credentials
 * were used, which is stored a little later.
 */
async function everything(): Promise<string> {
  const { read } = t.ctx.db
  const tables = await read.introspection.getTables()
  const textOf = (row: unknown) =>
    JSON.stringify(row, (name, value) =>
      /^lastUsed(At|From)$/.test(name)
        ? null
        : value instanceof Uint8Array
          ? Buffer.from(value).toString('hex')
          : value,
    )
  const rows = await Promise.all(
    tables.map(async ({ name }) => {
      const all = await read
        .selectFrom(name as 'teams')
        .selectAll()
        .execute()
      return [name, ...all.map(textOf).sort()]
    }),
  )
  return JSON.stringify(rows)
}

test('HEAD works wherever GET does, says the same, and uses nothing up', async () => {
  const fresh = (uid: string, counter: number, path: string) => tapPath(tap(derived, { uid }, counter), path)
  const opened = await ask('GET', fresh(uids.jacket, 1, '/t'))
  const ref = new URL(opened.headers.location ?? '').searchParams.get('svcRef')
  const otp = JSON.parse((await ask('GET', fresh(uids.twin, 1, '/chips/find'))).text).otp.code
  const [contract] = await t.ctx.db.read.selectFrom('contracts').selectAll().execute()
  const signature = `recipient=0x52908400098527886e0f7030069857d2e4169ee7`
  const jacket = `contractAddress=${contract?.address}&chainId=31337&tokenId=1`

  const before = await everything()
  const heads: [number, string, Record<string, string>?][] = [
    [200, fresh(uids.blank, 9, '/t')],
    [200, fresh(uids.blank, 9, '/chips/find')],
    [410, fresh(uids.jacket, 1, '/t')],
    [200, `/refs/${ref}`],
    [404, `/refs/${'x'.repeat(21)}`],
    [200, `/otps/${otp}`],
    [200, `/phygitals/transfer-signature/pullable?${signature}`, { 'x-svc-code': otp }],
    [401, `/phygitals/transfer-signature/pullable?${signature}`, { 'x-svc-code': 'x'.repeat(21) }],
    [400, '/phygitals/transfer-signature/pullable', { 'x-svc-code': otp }],
    [200, `/phygitals/transfer-signature?${jacket}&${signature}`, withKey(acmeKey)],
    [404, `/phygitals/transfer-signature?${jacket}&${signature}`, withKey(otherKey)],
    [200, '/chips?name=Jackets', withKey(acmeKey)],
    [401, '/chips?name=Jackets'],
    [200, `/metadata/31337/${contract?.address}/1`],
    [200, '/openapi.json'],
    [200, '/metrics'],
    [200, '/admin/openapi.json', t.admin],
    [200, '/admin/taps/follow', t.admin],
  ]
  for (const [status, path, headers] of heads) {
    const answer = await ask('HEAD', path, headers)
    expect({ path, status: answer.status, text: answer.text }).toEqual({ path, status, text: '' })
  }
  for (const { method, path } of table) {
    if (method !== 'GET') continue
    const { status } = await ask('HEAD', concrete(path), { ...t.admin, ...withKey(acmeKey) })
    expect([path, status]).not.toEqual([path, 405])
    expect(status).toBeLessThan(500)
  }
  expect(await everything()).toBe(before)

  expect((await ask('GET', fresh(uids.blank, 9, '/t'))).text).toContain('Genuine')
  expect(JSON.parse((await ask('GET', `/refs/${ref}`)).text)).toMatchObject({ isValidRef: true })
  expect(await everything()).not.toBe(before)
})
