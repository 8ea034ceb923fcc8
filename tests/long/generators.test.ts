import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { bob, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey, derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'

// Clients that two generators make of /openapi.json, type-checked and called.

const generators = resolve(import.meta.dirname, '../../generators')
const run = promisify(execFile)
/** A tool of the workspace, whose packages npm may have put above it. */
const tool = (path: string, ...args: string[]) =>
  run(process.execPath, [path, ...args], { cwd: generators, maxBuffer: 16 * 2 ** 20 })

let daemon: TestDaemon
let folder: string
let document: string
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: phygitalSeed, chain: true })
  // Below the workspace, so that what is generated finds its packages.
  folder = mkdtempSync(join(generators, 'made-'))
  document = join(folder, 'openapi.json')
  writeFileSync(document, await (await fetch(`${daemon.url}/openapi.json`)).text())
})
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true })
  await daemon.stop()
})

let counter = 0
/** Taps a chip. @returns the ref of its page */
async function refOf(uid: string): Promise<string> {
  counter += 1
  const page = await (await fetch(`${daemon.url}${tapPath(tap(derived, { uid }, counter))}`)).text()
  return /data-ref="([^"]+)"/.exec(page)?.[1] ?? ''
}

const settings = async () => ({
  url: daemon.url,
  key: acmeKey,
  recipient: bob,
  refs: [await refOf(chips.jacket(1)), await refOf(chips.jacket(2))],
  uid: BigInt(`0x${chips.jacket(1)}`).toString(),
})

/** Type-checks a program strictly, and runs it. @returns what it printed as JSON */
async function ran(name: string, program: string): Promise<unknown> {
  const file = join(folder, `${name}.ts`)
  writeFileSync(file, program)
  const flags = '--strict --noUncheckedIndexedAccess --skipLibCheck --target es2022'
  const modules = `--module esnext --moduleResolution bundler --outDir ${join(folder, name)} --rootDir ${folder}`
  await tool(
    join(generators, 'node_modules/typescript/bin/tsc'),
    ...`${flags} ${modules} --types node ${file}`.split(' '),
  ).catch((error) => {
    throw new Error(error.stdout)
  })
  const { build } = await import('esbuild')
  const outfile = join(folder, `${name}.mjs`)
  await build({ entryPoints: [file], outfile, bundle: true, platform: 'node', format: 'esm' })
  const { main } = await import(pathToFileURL(outfile).href)
  return main(await settings())
}

/** The ten calls, in the order of both programs. */
const expected = [
  expect.objectContaining({ uid: expect.any(String), isValidRef: true }),
  expect.objectContaining({ type: 'PHYGITAL_CLAIM', isExpired: false }),
  { success: true, initialTxHash: expect.stringMatching(/^0x/) },
  // The code is used up: an error that says so.
  { status: 401, code: 'otp_used' },
  expect.objectContaining({ uid: expect.any(String) }),
  [expect.objectContaining({ name: 'Jackets' })],
  expect.arrayContaining([expect.objectContaining({ isConfigured: true })]),
  { success: true },
  expect.objectContaining({ isRequired: false }),
  expect.objectContaining({ id: 'jacket' }),
]

describe('a generated client', () => {
  test('of openapi-typescript calls ten endpoints', async () => {
    await tool(
      join(generators, 'node_modules/openapi-typescript/bin/cli.js'),
      document,
      '-o',
      join(folder, 'schema.d.ts'),
    )
    const answers = await ran(
      'typescript-client',
      `import createClient from 'openapi-fetch'
import type { paths } from './schema.js'
type Settings = { url: string; key: string; recipient: string; refs: string[]; uid: string }
export async function main({ url, key, recipient, refs, uid }: Settings) {
  const app = createClient<paths>({ baseUrl: url })
  const team = createClient<paths>({ baseUrl: url, headers: { 'x-svc-api-key': key } })
  const ref = await app.GET('/refs/{id}', { params: { path: { id: refs[0] ?? '' }, query: { includeOwner: true } } })
  const otp = ref.data?.linkedToken?.otp ?? ''
  const token = ref.data?.linkedToken
  if (!token) throw new Error('no token')
  const { contractAddress, chainId, tokenId } = token
  const looked = await app.GET('/otps/{id}', { params: { path: { id: otp } } })
  const headers = { 'x-svc-code': otp }
  const body = { recipient }
  const params = { header: { 'Idempotency-Key': 'generated-1' } }
  const moved = await app.POST('/phygitals/transfer/pullable', { headers, body, params })
  const again = await app.POST('/phygitals/transfer/pullable', { headers, body })
  // The codes of an endpoint are types of their own.
  const code: 'otp_used' | undefined = again.error?.code === 'otp_used' ? again.error.code : undefined
  const at = { contractAddress, chainId, tokenId }
  const chip = await app.GET('/phygitals/chip', { params: { query: at } })
  const groups = await team.GET('/chip-groups')
  const listed = await team.GET('/chips', { params: { query: { name: groups.data?.[0]?.name ?? '' } } })
  const edited = await team.PATCH('/chips', { body: { tagUIDs: [uid], updates: { redirectUrl: null } } })
  const registration = await app.GET('/phygitals/claim-registration', { params: { query: { ...at, recipient } } })
  const item = await team.GET('/items/{itemId}', { params: { path: { itemId: 'jacket' } } })
  return [ref.data, looked.data, moved.data, { status: again.response.status, code }, chip.data, groups.data, listed.data, edited.data, registration.data, item.data]
}
`,
    )
    expect(answers).toEqual(expected)
  })

  test('of hey-api calls ten endpoints, and sends its key with a ref', async () => {
    const out = join(folder, 'hey')
    await tool(
      join(generators, 'node_modules/@hey-api/openapi-ts/bin/run.js'),
      '-i',
      document,
      '-o',
      out,
      '-c',
      '@hey-api/client-fetch',
      '--no-log-file',
    )
    const answers = await ran(
      'hey-client',
      `import { createClient, createConfig } from './hey/client/index.js'
import * as sdk from './hey/sdk.gen.js'
type Settings = { url: string; key: string; recipient: string; refs: string[]; uid: string }
export async function main({ url, key, recipient, refs, uid }: Settings) {
  const sent: (string | null)[] = []
  const app = createClient(createConfig({ baseUrl: url, auth: ({ name }) => (name === 'x-svc-api-key' ? key : undefined) }))
  app.interceptors.request.use((request) => { sent.push(request.headers.get('x-svc-api-key')); return request })
  const ref = await sdk.getRef({ client: app, path: { id: refs[1] ?? '' }, query: { includeOwner: true } })
  if (sent[0] !== key) throw new Error('the optional key was not sent with the ref')
  const otp = ref.data?.linkedToken?.otp ?? ''
  const token = ref.data?.linkedToken
  if (!token) throw new Error('no token')
  const { contractAddress, chainId, tokenId } = token
  const looked = await sdk.getOtp({ client: app, path: { id: otp } })
  const body = { recipient }
  const moved = await sdk.transferTokenWithCode({ client: app, auth: otp, body, headers: { 'Idempotency-Key': 'generated-2' } })
  const again = await sdk.transferTokenWithCode({ client: app, auth: otp, body })
  const code: string | undefined = again.error?.code
  const at = { contractAddress, chainId, tokenId }
  const chip = await sdk.getChipOfToken({ client: app, query: at })
  const groups = await sdk.listChipGroups({ client: app })
  const listed = await sdk.listChips({ client: app, query: { name: groups.data?.[0]?.name ?? '' } })
  const edited = await sdk.editChips({ client: app, body: { tagUIDs: [uid], updates: { redirectUrl: null } } })
  const registration = await sdk.getClaimRegistration({ client: app, query: { ...at, recipient } })
  const item = await sdk.getItem({ client: app, path: { itemId: 'jacket' } })
  return [ref.data, looked.data, moved.data, { status: again.response?.status, code }, chip.data, groups.data, listed.data, edited.data, registration.data, item.data]
}
`,
    )
    expect(answers).toEqual(expected)
  })
})
