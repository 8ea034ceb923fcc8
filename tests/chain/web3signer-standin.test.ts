import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, expect, test } from 'vitest'
import * as z from 'zod'
import { addressOf, Web3signer } from '../../src/daemon/chain/keys/web3signer.ts'
import { openWeb3signer, type Web3signerStandIn } from '../support/web3signer.ts'

const read = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../fixtures/web3signer/${name}`, import.meta.url), 'utf8'))

const content = z.record(z.string(), z.object({ schema: z.object({ type: z.string().optional() }) }))
const operation = z.object({
  requestBody: z
    .object({
      content: z.object({
        'application/json': z.object({ schema: z.object({ required: z.string().array() }) }),
      }),
    })
    .optional(),
  responses: z.record(z.string(), z.object({ content: content.optional() })),
})
const { paths } = z
  .object({ paths: z.record(z.string(), z.record(z.string(), operation)) })
  .parse(read('eth1-openapi.json'))
const hex = z.templateLiteral(['0x', z.string()])
const example = z
  .object({ privateKey: hex, publicKey: hex, address: z.string(), data: z.string(), signature: z.string() })
  .parse(read('examples.json'))

let signer: Web3signerStandIn
beforeEach(async () => {
  signer = await openWeb3signer([example.privateKey])
})
afterEach(() => signer.close())

/** Asks the stand-in, and checks that the document has the path, the status, and the form of the answer. */
async function ask(method: 'get' | 'post', path: string, sent: Record<string, string> = {}, body?: object) {
  const documented = paths[path]?.[method]
  const url = path.replace(/\{(\w+)\}/g, (_, name: string) => sent[name] ?? '')
  const answer = await fetch(signer.url + url, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const response = documented?.responses[String(answer.status)]
  expect(response, `${method} ${path} answers ${answer.status}`).toBeDefined()
  const text = await answer.text()
  for (const [type, { schema }] of Object.entries(response?.content ?? {})) {
    const [shown, wanted] = [answer.headers.get('content-type') ?? '', type].map((one) => one.toLowerCase())
    expect(shown?.split(';')[0]).toBe(wanted?.split(';')[0])
    if (schema.type === 'array') expect(z.string().array().safeParse(JSON.parse(text)).success).toBe(true)
  }
  return { status: answer.status, text }
}

test('the stand-in answers as web3signer’s document and its tests say', async () => {
  const path = '/api/v1/eth1/sign/{identifier}'
  expect(paths[path]?.post?.requestBody?.content['application/json'].schema.required).toEqual(['data'])
  expect(await ask('get', '/api/v1/eth1/publicKeys')).toEqual({
    status: 200,
    text: JSON.stringify([example.publicKey]),
  })
  const { data, publicKey, signature } = example
  for (const identifier of [publicKey, publicKey.slice(2), publicKey.toUpperCase().replace('0X', '0x')])
    expect(await ask('post', path, { identifier }, { data })).toEqual({ status: 200, text: signature })
  expect(await ask('post', path, { identifier: '0x12' }, { data })).toMatchObject({ status: 404 })
  expect(await ask('post', path, { identifier: publicKey }, {})).toMatchObject({ status: 400 })
  expect(await ask('get', '/upcheck')).toEqual({ status: 200, text: 'OK' })
  signer.fault = 'fails'
  expect(await ask('get', '/api/v1/eth1/publicKeys')).toMatchObject({ status: 500 })
})

test('what is asked of a signer stands in web3signer’s document', async () => {
  const client = new Web3signer(`${signer.url}/`)
  const [key] = await client.publicKeys()
  expect(key).toBe(example.publicKey)
  expect(addressOf(key ?? '').toLowerCase()).toBe(example.address)
  const transaction = { type: 'eip1559', chainId: 1, nonce: 0, gas: 21_000n, maxFeePerGas: 1n } as const
  expect(await client.sign(example.publicKey, transaction)).toMatch(/^0x02/)
  const known = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.keys(verbs).map(
      (verb) => `${verb.toUpperCase()} ${path.replace('{identifier}', example.publicKey)}`,
    ),
  )
  expect(signer.asked).toHaveLength(2)
  expect(known).toEqual(expect.arrayContaining(signer.asked))
  client.close()
})
