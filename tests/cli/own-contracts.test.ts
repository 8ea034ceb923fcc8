import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, getAddress } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ownerOf } from '../../src/daemon/chain/contract-state.ts'
import { teamTokenAbi } from '../contracts/artifacts/team-token.ts'
import { type CliHome, cliHome, ends } from '../support/cli.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { bob, carol, chips, phygitalSeed } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'
import { byApproval, deployTeamToken, mintTo } from '../support/team-token.ts'

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
let t: Awaited<ReturnType<typeof deployTeamToken>>
let here: CliHome
beforeAll(async () => {
  daemon = await startTestDaemon({ chain: true, seed: phygitalSeed })
  t = await deployTeamToken(daemon)
  await t.mint(1, 2, 3)
})
afterAll(() => daemon.stop())
beforeEach(() => {
  here = cliHome({
    TAPCHIP_URL: daemon.url,
    TAPCHIP_API_KEY: acmeKey,
    TAPCHIP_ADMIN_TOKEN: daemon.adminToken,
  })
})
afterEach(() => here.remove())

const file = (name: string, text: string): string => {
  const path = join(here.home, name)
  writeFileSync(path, text)
  return path
}
const register = (symbol: string, chainId: number, address: Address, abi: string, ...more: string[]) =>
  here.run(
    ...['contracts', 'register', '--symbol', symbol, '--name', symbol, '--chain-id', String(chainId)],
    ...['--address', address, '--abi', abi, ...more],
  )
const both = ['--transfer', byApproval, '--mint', mintTo]
const settled = async () => {
  const rows = await daemon.ctx.db.read.selectFrom('transactions').select('id').execute()
  for (const { id } of rows) await daemon.ctx.chains.relayer.settled(id)
}
const owner = async (id: number) => {
  await settled()
  return ownerOf(daemon.ctx.chains.get(31337).client, t.address, BigInt(id))
}

describe('contracts register --abi', () => {
  test('reads what compilers, explorers and people write', async () => {
    const json = JSON.stringify(teamTokenAbi)
    const lines = teamTokenAbi.flatMap((item) =>
      item.type === 'function' || item.type === 'error'
        ? [`${item.type} ${item.name}(${item.inputs.map(({ type }) => type).join(', ')})`]
        : [],
    )
    const forms = [
      json,
      JSON.stringify({ _format: 'hh-sol-artifact-1', abi: teamTokenAbi, bytecode: '0x' }),
      JSON.stringify({ status: '1', message: 'OK', result: json }),
      JSON.stringify(lines),
      `// Team\n${lines.join(';\n')};\n`,
    ]
    for (const [n, text] of forms.entries()) {
      const ran = await register(`F${n}`, 5, `0x${'0'.repeat(38)}a${n}`, file('abi.txt', text), ...both)
      ends(ran, 0, 'Warning')
      expect(ran.stdout).toMatch(/^Transfer: +transferFrom\(owner,recipient,tokenId\)$/m)
      expect(ran.stdout).toMatch(/^Mint: +mintTo\(recipient,tokenId\)$/m)
    }
  })

  test('ends with 2 and registers nothing where the file or the function is not there', async () => {
    const abi = file('abi.json', JSON.stringify(teamTokenAbi))
    const nowhere: Address = `0x${'0'.repeat(38)}bb`
    const wrong = await register('BAD', 5, nowhere, abi, '--mint', 'mintWithLove(recipient,tokenId)')
    ends(wrong, 2, 'names the function mintWithLove, which the ABI lacks')
    ends(await register('BAD', 5, nowhere, 'nothing.json', ...both), 2, 'cannot be read')
    for (const text of ['{"a":1}', '[', '{"result":"Contract source code not verified"}', 'x'.repeat(3e6)])
      ends(await register('BAD', 5, nowhere, file('bad.json', text), ...both), 2, 'contains no ABI')
    expect((await here.run('contracts', 'list', '--json')).json()).not.toContainEqual(
      expect.objectContaining({ symbol: 'BAD' }),
    )
  })
})

test('a registered contract takes a transfer, a sheet with its dry run, and mints for chips without a token', async () => {
  const registered = await register(
    'TEAM',
    31337,
    t.address,
    file('abi.json', JSON.stringify(teamTokenAbi)),
    ...both,
  )
  ends(registered, 0, 'lacks the role MINTER_ROLE')
  expect(registered.stdout).toMatch(/^Dry mint: +refused$/m)
  await t.grant('MINTER_ROLE')
  await t.approve()
  const shown = await here.run('contracts', 'show', 'TEAM')
  expect([shown.stdout, shown.stderr]).toEqual([expect.stringMatching(/^Dry mint: +works$/m), ''])

  for (const n of [1, 2, 3]) {
    const token = ['--contract-address', t.address, '--chain-id', '31337', '--token-id', String(n)]
    ends(await here.run('chips', 'link', chips.art(n), ...token), 0, '')
  }
  const moved = await here.run('phygitals', 'transfer', '--uid', chips.art(1), '--recipient', bob)
  ends(moved, 0, 'tapchip transactions show')
  expect(await owner(1)).toBe(getAddress(bob))
  const two = ['--contract-address', t.address, '--chain-id', '31337', '--token-id', '2']
  const signed = await here.run('phygitals', 'transfer-signature', ...two, '--recipient', bob)
  ends(signed, 1, 'takes no signed claims')

  const { id } = await daemon.ctx.db.read
    .selectFrom('contracts')
    .select('id')
    .where('symbol', '=', 'TEAM')
    .executeTakeFirstOrThrow()
  await daemon.ctx.db.write((trx) =>
    trx.updateTable('items').set({ contractId: id }).where('id', '=', 'jacket').execute(),
  )
  const rows = [
    [chips.art(2), bob],
    [chips.art(3), carol],
    [chips.unminted(1), bob],
    [chips.unminted(2), carol],
  ]
  const sheet = file('s.csv', `uid,recipient\n${rows.map((row) => `${row.join(',')}\n`).join('')}`)
  const dry = await here.run('phygitals', 'transfer', '--file', sheet, '--dry-run', '--json')
  expect(dry.code, dry.stderr).toBe(0)
  expect(dry.stdout).toMatch(/"status":"mint"/)
  const ran = await here.run('phygitals', 'transfer', '--file', sheet, '--json', '--yes')
  expect(ran.code, ran.stderr + ran.stdout).toBe(0)
  expect(await Promise.all([2, 3, 4, 5].map(owner))).toEqual(
    [bob, carol, bob, carol].map((a) => getAddress(a)),
  )
  const again = await here.run('phygitals', 'transfer', '--file', sheet, '--json')
  expect(again.lines()).toMatchObject(rows.map((_, n) => ({ row: n + 1, status: 'unchanged' })))
})
