import { keccak256, parseEther, stringToBytes, toHex } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Anvil, startAnvil } from '../support/anvil.ts'
import { type CliHome, cliHome, ends } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { phygitalSeed } from '../support/phygitals.ts'
import { openStrictNode } from '../support/relayer/strict-node.ts'
import { askNode } from '../support/relayer.ts'
import { acmeKey } from '../support/seeds.ts'

const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let anvil: Anvil
let here: CliHome
let relayer: string
// The embedded chain, one that mines when it is told to, and one that is out of reach.
beforeAll(async () => {
  anvil = await startAnvil(['--chain-id', '777', '--no-mining'])
  daemon = await startTestDaemon({
    chain: true,
    seed: phygitalSeed,
    env: {
      TAPCHIP_RPC_777: anvil.url,
      TAPCHIP_CONFIRMATIONS_777: '1',
      TAPCHIP_MAX_FEE_GWEI_777: '50',
      TAPCHIP_RPC_778: 'http://127.0.0.1:1',
      ...Object.fromEntries(
        ['RELAYER', 'SIGN_VERIFIER'].flatMap((role) =>
          [777, 778].map((chain) => [`TAPCHIP_${role}_KEY_${chain}`, key(`${role} ${chain}`)]),
        ),
      ),
    },
  })
  relayer = daemon.ctx.chains.get(777).relayer
})
afterAll(async () => {
  await daemon.stop()
  await anvil.kill()
})
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
})
afterEach(() => here.remove())

const fund = (ether: string) => askNode(anvil.url, 'anvil_setBalance', [relayer, toHex(parseEther(ether))])
const deploy = async (symbol: string, chainId: number) => {
  const ran = await here.run(
    ...['contracts', 'deploy', '--symbol', symbol, '--name', symbol, '--chain-id', String(chainId), '--json'],
  )
  expect([ran.code, ran.code === 0 ? '' : ran.stderr]).toEqual([0, ''])
  return ran.json() as { id: number; transactionId: number; address: string }
}
/** As the driver does by itself, now. */
const tick = () => daemon.ctx.chains.relayer.tick()
const findings = async () =>
  (await here.run('doctor', '--json')).json() as {
    check: string
    status: string
    detail: string
    fix: string
  }[]
const finding = async (chain: number) => (await findings()).find(({ check }) => check === `chain ${chain}`)

describe('transactions', () => {
  test('are listed, newest first, and shown with their attempts', async () => {
    const listed = await here.run('transactions', 'list', '--chain-id', '31337', '--limit', '3')
    expect(listed.stdout).toMatch(
      /^ID\tSTATE\tWAITING\tKIND\tABOUT\tCHAIN\tHASH\tRECORDED\tTEAM\n25\tconfirmed\t-\t/,
    )
    const shown = await here.run('transactions', 'show', '1')
    expect(shown.stdout).toMatch(/^State: +confirmed \(done\)$/m)
    expect(shown.stdout).toMatch(/^About: +JKT 0x[0-9a-fA-F]{40}$/m)
    expect(shown.stdout).toMatch(/^Attempt 1: +0x[0-9a-f]{64}, up to [\d.]+ gwei, a node had it at 20/m)
    ends(await here.run('transactions', 'show', '9999'), 1, 'No such transaction')
    const { initialTxHash } = (await here.run('transactions', 'show', '1', '--json')).json() as {
      initialTxHash: string
    }
    const status = await here.run('transactions', 'status', initialTxHash, '--json')
    expect(status.json()).toMatchObject({ initialTxHash, state: 'confirmed', chainId: 31337 })
    ends(await here.run('transactions', 'show', 'x'), 2, 'neither a number nor a hash')
    ends(await here.run('transactions', 'show', `0x${'0'.repeat(64)}`), 1, 'No transaction here has the hash')
    ends(await here.run('transactions', 'list', '--kind', 'nothing'), 0, 'No transactions.')
  })

  test('that cannot be paid say so, in the list, in doctor and in daemon status, and what to do', async () => {
    const { transactionId: id } = await deploy('POOR', 777)
    await tick()
    const waiting = await here.run('transactions', 'list', '--waiting', '--chain-id', '777')
    expect(waiting.stdout).toMatch(
      new RegExp(`\\n${id}\\tsigned\\tfunds: Insufficient funds[^\\t]*\\tphygital-deploy\\tPOOR 0x`),
    )
    expect(waiting.stderr).toMatch(/^funds on chain 777: To do: send the relayer of chain 777/)
    ends(await here.run('transactions', 'show', String(id)), 0, 'send the relayer of chain 777')
    expect(await finding(777)).toMatchObject({
      status: 'fail',
      detail: 'the relayer has 0 coins, and 1 transaction cannot be paid',
      fix: `send some of the chain's coin to ${relayer}`,
    })
    const status = await here.run('daemon', 'status')
    expect(status.stdout).toMatch(
      /^Chain 777: +remote, block 0, relayer 0x\w+ with 0 coins, 1 unsettled, 1 waiting for funds$/m,
    )
    expect(status.stdout).toMatch(/^Chain 31337: +embedded, block \d+, /m)

    ends(await here.run('transactions', 'cancel', String(id)), 2, '--reason is missing')
    const cancelled = await here.run('transactions', 'cancel', String(id), '--reason', 'too dear')
    expect(cancelled.stdout).toMatch(/being cancelled: whichever of its attempts is mined decides/)
    expect(cancelled.stdout).toMatch(/^Cancelled for: +too dear$/m)
    await fund('1')
    await tick()
    await askNode(anvil.url, 'evm_mine')
    await tick()
    const shown = await here.run('transactions', 'show', String(id))
    expect(shown.stdout).toMatch(/^State: +cancelled \(given up without effect\)$/m)
    expect(shown.stdout).toContain('empty, in its place')
    ends(await here.run('transactions', 'cancel', String(id), '--reason', 'x', '--yes'), 1, 'is cancelled')
  })

  test('wait while fees are above the cap, and doctor says which setting it is', async () => {
    await fund('1')
    await askNode(anvil.url, 'anvil_setNextBlockBaseFeePerGas', [toHex(90_000_000_000)])
    await askNode(anvil.url, 'evm_mine')
    // A tick under way may have read the price of before.
    await tick()
    const { transactionId: id } = await deploy('DEAR', 777)
    await tick()
    const shown = await here.run('transactions', 'show', String(id))
    expect(shown.stdout).toContain('waiting: the chain asks for more than the cap on fees')
    expect(await finding(777)).toMatchObject({
      status: 'fail',
      detail: 'the base fee is 90 gwei, above the cap of 50 gwei',
      fix: 'wait, or start the daemon with a higher TAPCHIP_MAX_FEE_GWEI_777',
    })
    expect((await here.run('transactions', 'cancel', String(id), '--reason', 'x', '--yes')).code).toBe(0)
    await askNode(anvil.url, 'anvil_setNextBlockBaseFeePerGas', [toHex(1_000_000_000)])
    await askNode(anvil.url, 'evm_mine')
  })
})

describe('doctor', () => {
  test('is content with the embedded chain', async () => {
    expect(await finding(31337)).toMatchObject({
      status: 'ok',
      detail: expect.stringMatching(/^embedded, block/),
    })
  })

  test('says what to check for a chain that does not answer, and where money runs low', async () => {
    await tick()
    expect(await finding(778)).toMatchObject({
      status: 'fail',
      fix: expect.stringContaining('check TAPCHIP_RPC_778'),
    })
    await fund('0.0001')
    await tick()
    expect(await finding(777)).toMatchObject({
      status: 'warn',
      detail: expect.stringMatching(/enough for \d+ transfers/),
    })
  })

  test('fails where a transaction cannot go on, in the words of the node', async () => {
    const { relayer } = daemon.ctx.chains
    const stuck = { id: 12, why: 'sender not in the allowlist' }
    const status = () => relayer.status().map((it) => (it.chainId === 777 ? { ...it, stuck } : it))
    const spy = vi.spyOn(daemon.ctx.chains, 'relayer', 'get').mockReturnValue({ ...relayer, status })
    const words = 'transaction 12 cannot continue: sender not in the allowlist'
    const found = await findings()
    spy.mockRestore()
    expect(found).toContainEqual({
      check: 'ready',
      status: 'fail',
      detail: `Chain 777: ${words}. See: tapchip transactions show 12`,
      fix: 'see what waits: tapchip transactions list --waiting',
    })
    expect(found).toContainEqual({
      check: 'chain 777',
      status: 'fail',
      detail: words,
      fix: 'see what it waits for: tapchip transactions show 12',
    })
  })

  test('makes the calls of a transfer, of each URL of a chain', async () => {
    const at = (chain: number, url: string) => `chain ${chain} at ${new URL(url).host}`
    const found = new Map((await findings()).map(({ check, ...rest }) => [check, rest]))
    expect(found.get(at(777, anvil.url))).toEqual({
      status: 'ok',
      detail: expect.stringMatching(/^block \d+$/),
      fix: null,
    })
    expect(found.get(at(778, 'http://127.0.0.1:1'))).toEqual({
      status: 'fail',
      detail: 'http://127.0.0.1:1 could not be reached: ECONNREFUSED',
      fix: 'check this URL in TAPCHIP_RPC_778, and the service behind it',
    })
  })

  test('names the setting where the URL leads to another chain', async () => {
    const node = await openStrictNode(() => anvil.url)
    const wrong = await startTestDaemon({
      env: {
        TAPCHIP_RPC_777: node.url,
        TAPCHIP_RELAYER_KEY_777: key('a'),
        TAPCHIP_SIGN_VERIFIER_KEY_777: key('b'),
      },
    })
    // What stands behind a URL can change from one day to the next.
    node.chainId = 779
    here.env.TAPCHIP_URL = wrong.url
    expect(await finding(777)).toEqual({
      check: 'chain 777',
      status: 'fail',
      detail: expect.stringContaining('The RPC URL of chain 777 answers for chain 779'),
      fix: 'set TAPCHIP_RPC_777 to a URL of chain 777, and start the daemon again',
    })
    await wrong.stop()
    await node.close()
  })

  test('warns where there is no chain at all', async () => {
    const bare = await startTestDaemon()
    here.env.TAPCHIP_URL = bare.url
    expect((await findings()).find(({ check }) => check === 'chains')).toMatchObject({ status: 'warn' })
    expect((await here.run('daemon', 'status', '--json')).json()).toMatchObject({ chains: [] })
    await bare.stop()
  })
})

describe('contracts', () => {
  test('are deployed, and waited for', async () => {
    const ran = await here.run(
      ...['contracts', 'deploy', '--symbol', 'CAP', '--name', 'Caps', '--chain-id', '31337', '--wait'],
      ...['--two-tap-delay', '60', '--two-tap-window', '3600'],
    )
    ends(ran, 0, 'tapchip chips link UID --contract-address 0x')
    expect(ran.stderr).not.toContain('is not known')
    expect(ran.stdout).toMatch(/^Status: +confirmed$/m)
    expect(ran.stdout).toMatch(/^Two taps: +60 s, 3600 s$/m)
    const again = await here.run(
      'contracts',
      'deploy',
      '--symbol',
      'CAP',
      '--name',
      'Caps',
      '--chain-id',
      '31337',
    )
    ends(again, 1, 'already has a contract with the symbol CAP')
    ends(
      await here.run('contracts', 'deploy', '--symbol', 'X', '--name', 'X', '--chain-id', '1'),
      2,
      'TAPCHIP_RPC_1',
    )
  })

  test('that are given up while somebody waits for them end the waiting', async () => {
    const waiting = here.run(
      ...['contracts', 'deploy', '--symbol', 'NEVER', '--name', 'Never', '--chain-id', '778', '--wait'],
    )
    let id: number | undefined
    while (id === undefined) {
      const listed = await here.run('transactions', 'list', '--chain-id', '778', '--json')
      ;[id] = (listed.json() as { id: number }[]).map((one) => one.id)
    }
    await here.run('transactions', 'cancel', String(id), '--reason', 'a mistake', '--yes')
    ends(await waiting, 1, 'NEVER was not deployed: cancelled (given up without effect): a mistake')
    const problem = `It was not deployed (transaction ${id}): a mistake`
    ends(await here.run('contracts', 'list'), 0, `Warning: NEVER: ${problem}`)
    expect((await findings()).find(({ check }) => check === 'contract NEVER')).toEqual({
      check: 'contract NEVER',
      status: 'warn',
      detail: problem,
      fix: 'check it: tapchip contracts show NEVER --team "Acme"',
    })
    expect((await here.run('daemon', 'status')).stdout).toContain('something is wrong with 1 contract')
  })

  test('that take longer than the waiting are under way, and it says how to look', async () => {
    const ran = await here.run(
      ...['contracts', 'deploy', '--symbol', 'SLOW', '--name', 'Slow', '--chain-id', '778', '--wait', '1'],
    )
    const [{ id }] = (await here.run('transactions', 'list', '--chain-id', '778', '--json')).json() as [
      { id: number },
    ]
    ends(ran, 1, 'SLOW was not deployed within 1 s: ')
    ends(ran, 1, `It is still under way.\nFollow it: tapchip transactions show ${id}`)
    await here.run('transactions', 'cancel', String(id), '--reason', 'a test', '--yes')
    ends(
      await here.run(
        'contracts',
        'deploy',
        '--symbol',
        'X',
        '--name',
        'X',
        '--chain-id',
        '778',
        '--wait',
        '0',
      ),
      2,
      '--wait must be a whole number from 1 to 86400',
    )
  })

  test('are shown with what stands at their address', async () => {
    const shown = await here.run('contracts', 'show', 'JKT')
    expect(shown.stdout).toMatch(/^Code: +what Tapchip deploys$/m)
    expect(shown.stdout).toMatch(/^Owner: +0x[0-9a-fA-F]{40}$/m)
    expect(shown.stdout).toMatch(/^Trusts our signatures: +yes$/m)
    expect((await here.run('contracts', 'show', 'JKT', '--json')).json()).toMatchObject({
      symbol: 'JKT',
      code: 'ours',
      trustsSignVerifier: true,
      problem: null,
      warnings: [],
    })
  })

  test('warn of a base URL that nobody else can reach', async () => {
    const ran = await here.run('contracts', 'deploy', '--symbol', 'LOCAL', '--name', 'L', '--chain-id', '778')
    ends(ran, 0, 'Warning: The base URL http://127.0.0.1')
  })

  test('get and lose their two-tap policy', async () => {
    const edit = (...args: string[]) => here.run('contracts', 'edit', 'JKT', ...args)
    const set = await edit('--two-tap-delay', '60', '--two-tap-window', '3600', '--json')
    expect(set.json()).toMatchObject({ symbol: 'JKT', twoTap: { delaySeconds: 60, windowSeconds: 3600 } })
    expect((await edit('--no-two-tap', '--json')).json()).toMatchObject({ twoTap: null })
    ends(await edit(), 2, 'Specify what to change')
    ends(await edit('--two-tap-delay', '60'), 2, 'both --two-tap-delay and --two-tap-window')
    ends(await here.run('contracts', 'edit', 'NONE', '--no-two-tap'), 1, 'There is no contract "NONE"')
  })

  test('are told the base URL on request, once', async () => {
    const before = daemon.ctx.baseUrl
    daemon.ctx.baseUrl = 'https://tap.example.com'
    const told = await here.run('contracts', 'set-url', 'JKT')
    ends(told, 0, 'tapchip transactions show')
    expect(told.stdout).toMatch(/^Base URL: +https:\/\/tap.example.com$/m)
    ends(await here.run('contracts', 'set-url', 'JKT'), 0, 'Unchanged')
    ends(await here.run('contracts', 'set-url', 'JKT', '--force'), 0, 'tapchip transactions show')
    daemon.ctx.baseUrl = before
  })

  test('that are registered are looked at, and what is found is said', async () => {
    const ran = await here.run(
      ...['contracts', 'register', '--symbol', 'OLD', '--name', 'Old', '--chain-id', '777'],
      ...['--address', '0x5FbDB2315678afecb367f032d93F642f64180aa3'],
    )
    ends(ran, 0, 'Warning: There is no contract at 0x5FbDB2315678afecb367f032d93F642f64180aa3 on chain 777')
    expect(ran.stdout).toMatch(/^Trusts our signatures: +not known$/m)
  })
})
