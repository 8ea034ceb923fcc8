import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { keccak256, stringToBytes } from 'viem'
import { expect, test } from 'vitest'
import { batchRefusals, openLimitedNode } from '../support/limited-node.ts'
import { run, spawnDaemon } from '../support/process.ts'

const key = (name: string) => keccak256(stringToBytes(`test: ${name}`))

test('doctor names each RPC URL by host and port, with what it lacks, and no key of it', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'tapchip-rpc-'))
  const well = await openLimitedNode()
  const limited = await openLimitedNode()
  const gone = await openLimitedNode()
  for (const node of [well, limited, gone]) Object.assign(node, { chainId: 777, head: 5000 })
  Object.assign(well, { maxBatch: 3, refuse: batchRefusals['one error'] })
  await gone.close()
  const daemon = await spawnDaemon(['--data-dir', dir, '--port', '0'], {
    TAPCHIP_DEV_CHAIN: 'off',
    TAPCHIP_RPC_777: [limited, well, gone].map(({ url }) => url).join(','),
    TAPCHIP_RELAYER_KEY_777: key('relayer'),
    TAPCHIP_SIGN_VERIFIER_KEY_777: key('sign verifier'),
  })
  try {
    limited.tooMany = '60'
    const { stdout } = await run('tapchip', ['doctor', '--json'], {
      TAPCHIP_URL: daemon.ready.url,
      TAPCHIP_ADMIN_TOKEN: readFileSync(join(dir, 'admin.token'), 'utf8').trim(),
    })
    const findings: { check: string }[] = JSON.parse(stdout)
    const at = (name: string) => findings.find(({ check }) => check === `chain 777 at ${name}`)
    expect(at(well.name)).toMatchObject({ status: 'ok', detail: 'block 5000, batches of at most 3 calls' })
    expect(at(limited.name)).toMatchObject({
      status: 'warn',
      detail: expect.stringContaining(`${limited.name} limits requests (HTTP 429); again in`),
      fix: expect.stringContaining('TAPCHIP_RPC_777'),
    })
    expect(at(gone.name)).toMatchObject({ status: 'warn', detail: expect.stringContaining('ECONNREFUSED') })
    expect(`${stdout}${daemon.log()}`).not.toContain('secret-key')
  } finally {
    await daemon.stop()
    for (const node of [well, limited]) await node.close()
    rmSync(dir, { recursive: true, force: true })
  }
})
