import { keccak256, stringToBytes } from 'viem'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SenderStatus } from '../../src/daemon/chain/relayer/sender.ts'
import { type AdminApp, openAdminApp } from '../support/admin.ts'
import { type Answer, batchRefusals, type LimitedNode, openLimitedNode } from '../support/limited-node.ts'

const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))

let one: LimitedNode
let two: LimitedNode
let t: AdminApp
beforeEach(async () => {
  one = await openLimitedNode()
  two = await openLimitedNode()
  Object.assign(one, { chainId: 777, head: 5000 })
  Object.assign(two, { chainId: 777, head: 5000 })
  t = await openAdminApp({
    seed: { version: 1, teams: [{ name: 'Acme' }] },
    env: {
      TAPCHIP_RPC_777: `${one.url}, ${two.url}`,
      TAPCHIP_EXPIRY_BLOCKS_777: '1800',
      TAPCHIP_RELAYER_KEY_777: key('relayer'),
      TAPCHIP_SIGN_VERIFIER_KEY_777: key('sign verifier'),
    },
  })
})
afterEach(async () => {
  await t.close()
  await one.close()
  await two.close()
})

const chain = async (query = '') => (await t.call(`GET /admin/chains${query}`)).body[0]
const checked = async () => (await chain('?check=true')).endpoints
const lacking =
  (methods: readonly string[], answer: Answer = notThere) =>
  (call: { method: string }) =>
    methods.includes(call.method) ? answer : undefined
const notThere = { error: { code: -32601, message: 'the method does not exist' } }
const ok = (detail: string) => ({ status: 'ok', detail, fix: null })

test('the URLs of a chain are listed by host and port, with their blocks, in metrics, too', async () => {
  const well = { isWell: true, behind: 0, batch: null, limitedUntil: null, lastError: null }
  const { endpoints } = await chain()
  expect(endpoints).toMatchObject([{ url: one.name, checks: null }, { url: two.name }])
  expect(await checked()).toEqual(
    [one, two].map(({ name }) => ({ url: name, latestBlock: 5000, ...well, checks: [ok('block 5000')] })),
  )
  one.tooMany = '30'
  expect((await chain('?check=true')).endpoints[0]).toMatchObject({
    isWell: false,
    limitedUntil: expect.stringMatching(/^20.*Z$/),
    lastError: expect.stringMatching(/limits requests \(HTTP 429\); again in \d+ s$/),
  })
  Object.assign(two, { maxBatch: 3 })
  expect((await chain('?check=true')).endpoints[1]).toMatchObject({ batch: 3 })
  const { body } = await t.app.inject({ url: '/metrics', headers: t.admin })
  const label = ({ name }: LimitedNode) => `{chain="777",url="${name}"}`
  for (const line of [
    `tapchip_rpc_up${label(one)} 0`,
    `tapchip_rpc_up${label(two)} 1`,
    `tapchip_rpc_limited${label(one)} 1`,
    `tapchip_rpc_behind_blocks${label(two)} 0`,
    `tapchip_rpc_batch_limit${label(two)} 3`,
  ])
    expect(body.split('\n')).toContain(line)
  expect(`${body}${JSON.stringify(await chain('?check=true'))}`).not.toContain('secret-key')
})

describe('a URL that is checked', () => {
  test('gets the calls that a transfer makes', async () => {
    await checked()
    const asked = new Set(two.requests.flat())
    for (const method of [
      'eth_getTransactionCount',
      'eth_estimateGas',
      'eth_maxPriorityFeePerGas',
      'eth_getLogs',
    ])
      expect(asked).toContain(method)
  })

  test.each<[string, (call: { method: string; params: unknown[] }) => Answer | undefined, string]>([
    [
      'needs more gas',
      lacking(['eth_estimateGas'], { result: '0x13880' }),
      'an empty transaction needs 80,000 gas',
    ],
    ['suggests no tip', lacking(['eth_maxPriorityFeePerGas']), 'tips from the fee history'],
    ['suggests null', lacking(['eth_maxPriorityFeePerGas'], { result: null }), 'tips from the fee history'],
    ['knows of no tips', lacking(['eth_maxPriorityFeePerGas', 'eth_feeHistory']), 'tips from the gas price'],
    [
      'limits ranges of logs',
      ({ method, params }) => {
        const { fromBlock, toBlock } = Object(params[0])
        const isLong = method === 'eth_getLogs' && Number(toBlock) - Number(fromBlock) >= 10
        return isLong ? { error: { code: -32602, message: 'up to a 10 block range' } } : undefined
      },
      'logs of at most 7 blocks at a time',
    ],
  ])('and %s is well, and the check says so', async (_what, own, detail) => {
    one.own = own
    expect((await checked())[0]).toMatchObject({ isWell: true, checks: [ok('block 5000'), ok(detail)] })
  })

  test('and takes single calls alone, is well, and the check says so', async () => {
    Object.assign(one, { maxBatch: 0, refuse: batchRefusals['HTTP 413'] })
    expect((await checked())[0]).toMatchObject({
      isWell: true,
      batch: 1,
      checks: [ok('block 5000'), ok('single calls only')],
    })
  })

  test.each([
    [lacking(['eth_estimateGas']), /^it does not estimate gas \("the method does not exist"\)$/],
    [lacking(['eth_getTransactionCount']), /^it does not report an account's nonce at a given block/],
    [
      lacking(['eth_maxPriorityFeePerGas', 'eth_feeHistory', 'eth_gasPrice']),
      /^it gives no tip, no fee history, and no gas price \("the method/,
    ],
    [lacking(['eth_chainId'], { result: '0x5' }), /answers for chain 5$/],
    [lacking(['eth_getLogs']), /^it does not search logs/],
  ])('and can move nothing is of no use beside another one, and fails alone: %#', async (own, words) => {
    one.own = own
    const told = async () =>
      (await checked())[0].checks.find(({ status }: { status: string }) => status !== 'ok')
    expect(await told()).toMatchObject({ status: 'warn', detail: expect.stringMatching(words) })
    two.own = own
    const isDegraded = /logs|estimate/.test(String(words))
    expect(await told()).toMatchObject({
      status: isDegraded ? 'warn' : 'fail',
      fix: expect.stringMatching(/TAPCHIP_RPC_777|use a node that answers/),
    })
  })

  test('and is gone, or limits requests, is named with what to do', async () => {
    await two.close()
    one.tooMany = '20'
    const [limited, gone] = await checked()
    expect([limited.checks, gone.checks]).toEqual([
      [
        {
          status: 'fail',
          detail: expect.stringMatching(/limits requests \(HTTP 429\)/),
          fix: 'use a URL with a higher limit in TAPCHIP_RPC_777, or several',
        },
      ],
      [
        {
          status: 'fail',
          detail: expect.stringContaining('ECONNREFUSED'),
          fix: 'check this URL in TAPCHIP_RPC_777, and the service behind it',
        },
      ],
    ])
    two = await openLimitedNode()
  })
})

test('a relayer that cannot go on makes its chain trouble, and the daemon unready', async () => {
  const { relayer } = t.ctx.chains
  const key = `k${'0f'.repeat(16)}`
  const why = `gas price below minimum, see https://rpc.example/${key} (key ${key}).`
  const status = (): SenderStatus[] => relayer.status().map((it) => ({ ...it, stuck: { id: 12, why } }))
  vi.spyOn(t.ctx.chains, 'relayer', 'get').mockReturnValue({ ...relayer, status })
  const words = 'transaction 12 cannot continue: gas price below minimum, see https://rpc.example (key …)'
  expect((await chain()).trouble).toEqual({ code: 'stuck', message: words, transactionId: 12 })
  const ready = await t.app.inject({ url: '/readyz' })
  expect([ready.statusCode, ready.json()]).toMatchObject([
    503,
    { code: 'chain_unavailable', message: `Chain 777: ${words}. See: tapchip transactions show 12` },
  ])
  const { body } = await t.app.inject({ url: '/metrics', headers: t.admin })
  expect(body).toContain('tapchip_chain_trouble{chain="777"} 1')
})
