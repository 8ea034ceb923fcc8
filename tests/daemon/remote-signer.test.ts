import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { privateKeyToAddress } from 'viem/accounts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { cliHome } from '../support/cli.ts'
import { adminToken, allSettled, startTestDaemon, type TestDaemon } from '../support/daemon.ts'
import { phygitalSeed } from '../support/phygitals.ts'
import { derived } from '../support/seeds.ts'
import { tap, tapPath } from '../support/taps.ts'
import { openWeb3signer, type Web3signerStandIn } from '../support/web3signer.ts'

const secrets = [`0x${'a1'.repeat(32)}`, `0x${'b2'.repeat(32)}`] as const
const addresses = secrets.map(privateKeyToAddress)

let signer: Web3signerStandIn
let dataDir: string
let daemon: TestDaemon | undefined
beforeEach(async () => {
  signer = await openWeb3signer(secrets)
  dataDir = mkdtempSync(join(tmpdir(), 'tapchip-signer-'))
})
afterEach(async () => {
  await daemon?.stop()
  daemon = undefined
  await signer.close()
  rmSync(dataDir, { recursive: true, force: true })
})

const env = { TAPCHIP_DATA_KEY: '0123456789abcdef'.repeat(4) }
const start = async (relayers = '1') => {
  const signs = { TAPCHIP_SIGNER_31337: signer.url, TAPCHIP_RELAYERS_31337: relayers }
  daemon = await startTestDaemon({ chain: true, dataDir, env: { ...env, ...signs }, seed: phygitalSeed })
  return daemon
}
const restart = async () => {
  await daemon?.stop()
  return start()
}
const ask = async (path: string) => {
  const answer = await fetch(`${daemon?.url}${path}`, { headers: { authorization: `Bearer ${adminToken}` } })
  return { status: answer.status, text: await answer.text() }
}
const chain = async () => JSON.parse((await ask('/admin/chains?check=true')).text)[0]
const findings = async (): Promise<unknown> => {
  const home = cliHome({ TAPCHIP_URL: daemon?.url ?? '', TAPCHIP_ADMIN_TOKEN: adminToken })
  const ran = await home.run('doctor', '--json')
  home.remove()
  return ran.json()
}
const uid = phygitalSeed.teams[0]?.chipGroups?.[0]?.chips[0]?.uid ?? ''
let taps = 0
const tapped = async () => {
  taps += 1
  return (await ask(tapPath(tap(derived, { uid }, taps)))).status
}
const name = () => `signer of chain 31337 at ${signer.host}`

test('no key is here, everything of a seed is sent, and doctor and metrics name the signer', async () => {
  const { ctx } = await start('2')
  await allSettled(ctx)
  const rows = await ctx.db.read.selectFrom('transactions').select(['state', 'sender']).execute()
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['confirmed']))
  for (const { sender } of rows) expect(addresses).toContain(sender)
  expect(await chain()).toMatchObject({ signer: { url: signer.host, problem: null }, trouble: null })
  expect(await findings()).toContainEqual({
    check: name(),
    status: 'ok',
    detail: "it has the relayers' keys",
    fix: null,
  })
  expect((await ask('/metrics')).text).toContain(`tapchip_signer_up{chain="31337",signer="${signer.host}"} 1`)
})

test('a signer with too few keys is named by doctor, and what it has is used', async () => {
  const { ctx } = await start('3')
  await allSettled(ctx)
  expect(await chain()).toMatchObject({ signer: { problem: null, missingKeys: 1 }, trouble: null })
  expect(await findings()).toContainEqual({
    check: name(),
    status: 'warn',
    detail: 'it had too few keys: 1 fewer than TAPCHIP_RELAYERS_31337',
    fix: 'give it more keys, and start the daemon again',
  })
})

describe('a start while the signer is down', () => {
  test('serves taps, and everything waits until the signer is back', async () => {
    await allSettled((await start()).ctx)
    await daemon?.stop()
    signer.fault = 'is cut off'
    const { ctx } = await start()
    expect(await tapped()).toBeLessThan(400)
    expect(ctx.chains.get(31337).relayer).toBe(addresses[0])
    const problem = expect.stringContaining(`The signer at ${signer.host} does not answer`)
    expect(await chain()).toMatchObject({ relayer: addresses[0], signer: { url: signer.host, problem } })
    expect(await findings()).toContainEqual(
      expect.objectContaining({
        check: name(),
        status: 'fail',
        detail: problem,
        fix: expect.stringContaining('TAPCHIP_SIGNER_31337'),
      }),
    )
    expect((await ask('/metrics')).text).toContain(
      `tapchip_signer_up{chain="31337",signer="${signer.host}"} 0`,
    )
    signer.fault = undefined
    await expect.poll(async () => (await chain()).trouble, { timeout: 20_000 }).toBeNull()
  })

  test('the first one, too: its chain is served once the signer has told its keys', async () => {
    signer.fault = 'is cut off'
    const { ctx } = await start()
    expect(await tapped()).toBeLessThan(400)
    expect(ctx.chains.all).toEqual([])
    const problem = expect.stringContaining(`The signer at ${signer.host} does not answer`)
    expect(await chain()).toMatchObject({
      relayer: '',
      trouble: { code: 'signer', message: problem },
      isEmbedded: true,
    })
    expect(await findings()).toContainEqual(expect.objectContaining({ check: name(), status: 'fail' }))
    expect(() => ctx.chains.get(31337)).toThrow(/Chain 31337 is not served yet/)
    expect(JSON.parse((await ask(`/admin/contracts/1`)).text)).toMatchObject({
      warnings: [expect.stringMatching(/^Chain 31337 is not served yet, .*tapchip doctor/)],
    })
    expect(JSON.parse((await ask(`/admin/chips/${uid}`)).text)).toMatchObject({
      linkedToken: { ownerAddress: null, ownerNote: 'chain 31337 is not served yet' },
    })
    signer.fault = undefined
    await expect.poll(() => ctx.chains.has(31337), { timeout: 20_000 }).toBe(true)
    const open = () =>
      ctx.db.read.selectFrom('transactions').select('id').where('state', '=', 'confirmed').execute()
    // What the seed needs on its chain is recorded then.
    await expect.poll(async () => (await open()).length, { timeout: 20_000 }).toBeGreaterThan(10)
    await expect.poll(chain, { timeout: 20_000 }).toMatchObject({ relayer: addresses[0], trouble: null })
  })

  test('keeps the addresses, whatever order the signer lists its keys in', async () => {
    await start()
    signer.secrets = secrets.toReversed()
    const { ctx } = await restart()
    expect(ctx.chains.get(31337).relayer).toBe(addresses[0])
  })
})
