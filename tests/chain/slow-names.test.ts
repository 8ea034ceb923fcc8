import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { remoteAccess } from '../../src/daemon/chain/chain.ts'
import { RpcEndpoints } from '../../src/daemon/chain/rpc-transport.ts'

// The owner of a name decides how long its resolver takes.

const account = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'

test('look-ups that never end hold up no other call, and say nothing about the node', async () => {
  const held = new Set<unknown>()
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const calls = [JSON.parse(text)].flat()
    if (calls.some(({ method }) => method === 'eth_call')) return held.add(response)
    const answers = calls.map(({ id }) => ({ jsonrpc: '2.0', id, result: '0x1' }))
    response.end(JSON.stringify(text.startsWith('[') ? answers : answers[0]))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const chain = {
    chainId: 1,
    rpcUrls: [`http://127.0.0.1:${(server.address() as AddressInfo).port}`],
    confirmations: 1,
    maxFeePerGas: 1n,
    minTip: 0n,
    maxTip: undefined,
    maxGas: 200_000,
    expiryBlocks: undefined,
  }
  const endpoints = new RpcEndpoints(chain.rpcUrls, chain)
  const keys = { relayers: [{ address: account }], signVerifier: { address: account } }
  const { client, nameClient } = remoteAccess(chain, endpoints, keys as never)
  expect(await nameClient.getChainId()).toBe(1)
  const asked: Promise<unknown>[] = []
  for (let n = 0; n < 30; n++) {
    asked.push(nameClient.call({ to: account, data: '0x' }).catch(() => 'cut off'))
    await nextTurn()
  }
  // As many as are under way at once.
  await expect.poll(() => held.size).toBe(16)
  expect(await client.getBalance({ address: account })).toBe(1n)
  expect(endpoints.health()).toMatchObject([{ isWell: true }])
  server.closeAllConnections()
  server.close()
  await Promise.all(asked)
  expect(endpoints.health()).toMatchObject([{ isWell: true }])
})
