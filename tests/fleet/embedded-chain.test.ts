import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { EmbeddedElsewhere, holderIn } from '../../src/daemon/chain/dev-chain/alone.ts'
import { startTestDaemon } from '../support/daemon.ts'
import { startFleet, untilItHolds } from '../support/fleet.ts'

test('the embedded chain is for one daemon: a second one is refused while the first lives, and not without it', async () => {
  const { daemons, env, stop } = await startFleet({ chain: true }, 1)
  try {
    await expect(startTestDaemon({ chain: true, env })).rejects.toThrow(EmbeddedElsewhere)
    const beside = await startTestDaemon({ env })
    await beside.stop()
    await daemons.pop()?.stop()
    const next = await startTestDaemon({ chain: true, env })
    await next.stop()
  } finally {
    await stop()
  }
}, 60_000)

test('a daemon whose embedded chain another one has taken meanwhile stops its own', async () => {
  const { daemons, stop } = await startFleet({ chain: true }, 1)
  try {
    const { db, chains } = daemons[0]?.ctx ?? {}
    const url = chains?.rpcUrls[31337] ?? ''
    const ask = () =>
      fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
      }).then(
        ({ ok }) => ok,
        () => false,
      )
    expect(await ask()).toBe(true)
    await db?.write((trx) =>
      trx
        .updateTable('leases')
        .set((e) => ({ holder: 'another', fence: e('fence', '+', 1) }))
        .where('name', '=', 'embedded chain')
        .execute(),
    )
    await untilItHolds(async () => expect(await ask()).toBe(false))
  } finally {
    await stop()
  }
}, 60_000)

test('who holds it is random, and stays with the data directory', () => {
  const [one, other] = [mkdtempSync(join(tmpdir(), 'tapchip-')), mkdtempSync(join(tmpdir(), 'tapchip-'))]
  try {
    expect(holderIn(one)).toBe(holderIn(one))
    expect(holderIn(other)).not.toBe(holderIn(one))
  } finally {
    for (const dir of [one, other]) rmSync(dir, { recursive: true })
  }
})
