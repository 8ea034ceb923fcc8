import { parseEther, toHex } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inBrowser } from '../support/browser.ts'
import { adminToken, startTestDaemon } from '../support/daemon.ts'
import { phygitalSeed } from '../support/phygitals.ts'
import { acmeKey } from '../support/seeds.ts'

// Any page that a developer has open can send requests to loopback. It must not get anywhere.

let daemon: Awaited<ReturnType<typeof startTestDaemon>>
beforeAll(async () => {
  daemon = await startTestDaemon({ seed: phygitalSeed, chain: true })
})
afterAll(() => daemon.stop())

const chainNow = async () => {
  const { client } = daemon.ctx.chains.get(31337)
  const victim = '0x00000000000000000000000000000000000a11ce'
  return {
    block: await client.getBlockNumber(),
    balance: await client.getBalance({ address: victim }),
    victim,
  }
}

/** A transaction that is signed and good, by an account whose key everybody has. */
const signedTransfer = async (to: `0x${string}`) => {
  const account = privateKeyToAccount('0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80')
  return account.signTransaction({
    chainId: 31337,
    nonce: 0,
    to,
    value: parseEther('1'),
    gas: 21_000n,
    maxFeePerGas: 10n ** 10n,
    maxPriorityFeePerGas: 10n ** 9n,
  })
}

test('a page on another origin can neither read the embedded chain nor change it', async () => {
  const rpcUrl = daemon.ctx.chains.rpcUrls['31337'] ?? ''
  const before = await chainNow()
  const calls = [
    ['evm_mine', []],
    ['anvil_setBalance', [before.victim, toHex(parseEther('7'))]],
    [
      'eth_sendTransaction',
      [{ from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266', to: before.victim, value: '0x1' }],
    ],
    ['eth_sendRawTransaction', [await signedTransfer(before.victim as `0x${string}`)]],
    ['eth_blockNumber', []],
  ]
  const outcome = await inBrowser(
    `
    const rpc = ${JSON.stringify(rpcUrl)}
    const calls = ${JSON.stringify(calls)}
    const seen = []
    const note = (how, promise) => promise.then((text) => seen.push([how, text]), () => undefined)
    for (const [method, params] of calls) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      // As a page would: with a preflight, as text without one, unread, and in the name of localhost.
      await note('json', fetch(rpc, { method: 'POST', headers: { 'content-type': 'application/json' }, body }).then((a) => a.text()))
      await note('text', fetch(rpc, { method: 'POST', headers: { 'content-type': 'text/plain' }, body }).then((a) => a.text()))
      await note('unread', fetch(rpc, { method: 'POST', mode: 'no-cors', body }).then((a) => a.text()))
      await note('renamed', fetch(rpc.replace('127.0.0.1', 'localhost'), { method: 'POST', mode: 'no-cors', body }).then((a) => a.text()))
      navigator.sendBeacon(rpc, body)
      const form = document.createElement('form')
      const frame = document.createElement('iframe')
      frame.name = 'f' + method
      document.body.append(frame, form)
      form.target = frame.name
      form.method = 'post'
      form.enctype = 'text/plain'
      form.action = rpc
      const input = document.createElement('input')
      input.name = body.slice(0, -1) + ',"x":"'
      input.value = '"}'
      form.append(input)
      form.submit()
    }
    const socket = new WebSocket(rpc.replace('http', 'ws'))
    const opened = await new Promise((resolve) => {
      socket.onopen = () => resolve(true)
      socket.onerror = () => resolve(false)
    })
    await new Promise((resolve) => setTimeout(resolve, 500))
    return { seen: seen.filter(([, text]) => text !== ''), opened }
  `,
  )
  expect(outcome).toEqual({ seen: [], opened: false })
  const after = await chainNow()
  expect(after.balance).toBe(before.balance)
  expect(after.block).toBe(before.block)
})

test('what it may call is the interface, as documented, and nothing of /admin', async () => {
  const outcome = await inBrowser(`
    const base = ${JSON.stringify(daemon.url)}
    const ask = (path, headers) => fetch(base + path, { headers }).then((a) => a.status, () => 'refused')
    return {
      interface: await ask('/chip-groups', { 'x-svc-api-key': ${JSON.stringify(acmeKey)}, 'content-type': 'application/json' }),
      code: await ask('/phygitals/transfer-signature/pullable?recipient=x', { 'x-svc-code': 'x', 'content-type': 'application/json' }),
      admin: await ask('/admin/teams', { authorization: 'Bearer ${adminToken}' }),
      metrics: await ask('/metrics', {}),
    }
  `)
  expect(outcome).toEqual({ interface: 200, code: 401, admin: 'refused', metrics: 'refused' })
})
