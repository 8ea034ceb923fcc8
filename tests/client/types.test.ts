import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const root = resolve(import.meta.dirname, '../..')
const project = mkdtempSync(join(tmpdir(), 'tapchip-types-'))
afterAll(() => rmSync(project, { recursive: true, force: true }))

const app = `
import { createClient, TapchipError, verifyWebhook, type Client, type Webhook } from 'tapchip/client'
const client: Client = createClient({ baseUrl: 'https://taps.example' })
export async function claim(id: string): Promise<string> {
  const ref = await client.getRef({ id, includeOwner: true })
  if (!ref.isValidRef) return 'Tap again.'
  const code: string | undefined = ref.linkedToken?.otp ?? ref.otp
  try {
    return (await client.transferTokenWithCode({ code: code ?? '', recipient: 'a' }, { idempotencyKey: id })).initialTxHash
  } catch (error) {
    if (error instanceof TapchipError && error.code === 'otp_used') return error.message
    throw error
  }
}
export async function settled(webhook: Promise<Webhook>): Promise<string | undefined> {
  const event = await webhook
  if (event.type === 'tap.valid') return event.data.uid
  return event.type === 'transaction.settled' ? event.data.state : undefined
}
export const first = verifyWebhook('', new Headers(), ['a', 'b'])
export async function* rows() {
  for await (const row of client.editChipsByLine({ lines: [] })) yield row.status === 'failed' ? row.error : row.uid
}
// @ts-expect-error A code is needed.
void client.transferTokenWithCode({ recipient: 'a' })
// @ts-expect-error No such operation.
void client.getReff({ id: 'a' })
// @ts-expect-error No such status.
void client.getRef({ id: 'a' }).then((ref) => ref.badgeEvents.some(({ status }) => status === 'gone'))
`

test('an app compiles strictly, whichever way it finds modules', () => {
  mkdirSync(join(project, 'node_modules'))
  symlinkSync(root, join(project, 'node_modules/tapchip'))
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(project, 'app.ts'), app)
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const said = [
    ['--module', 'esnext', '--moduleResolution', 'bundler'],
    ['--module', 'node16', '--moduleResolution', 'node16'],
  ].map((how) => {
    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noUncheckedIndexedAccess',
      '--noImplicitOverride',
    ]
    const args = [...how, ...strict, '--noEmit', '--target', 'es2022', '--lib', 'es2022,dom', '--types', '']
    return spawnSync(process.execPath, [tsc, ...args, 'app.ts'], { cwd: project, encoding: 'utf8' }).stdout
  })
  expect(said).toEqual(['', ''])
})
