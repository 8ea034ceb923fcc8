import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const read = (file: string) => readFileSync(resolve(import.meta.dirname, '..', file), 'utf8')

interface Locked {
  version?: string
  integrity?: string
  resolved?: string
  link?: boolean
}
const locked: Record<string, Locked> = JSON.parse(read('package-lock.json')).packages
const installed = Object.entries(locked).filter(([path, { link }]) => path.includes('node_modules/') && !link)

test('the lock file has the checksum of every package, and the address of none', () => {
  expect(installed.length).toBeGreaterThan(100)
  const bare = installed.filter(([, { integrity }]) => !/^sha512-[\w+/]{86}==$/.test(integrity ?? ''))
  expect(bare.map(([path]) => path)).toEqual([])
  expect(installed.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([])
})

// `npm run check` compares the whole with what npm and the build say.
test('the list of what ships names packages of the lock file, with licenses, and no time or address', () => {
  const text = read('sbom.cdx.json')
  const { components } = JSON.parse(text) as {
    components: { name: string; version: string; hashes: { content: string }[]; licenses: object[] }[]
  }
  const known = new Set(
    installed.map(
      ([path, { version, integrity = '' }]) =>
        `${path.replace(/^.*node_modules\//, '')} ${version} ${Buffer.from(integrity.slice('sha512-'.length), 'base64').toString('hex')}`,
    ),
  )
  const named = components.map(({ name, version, hashes }) => `${name} ${version} ${hashes[0]?.content}`)
  expect(named.filter((one) => !known.has(one))).toEqual([])
  expect(components.filter(({ licenses }) => licenses.length === 0)).toEqual([])
  expect(components.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['fastify', 'better-sqlite3', 'tiny-secp256k1', 'swagger-ui-dist', 'viem']),
  )
  expect(components.map(({ name }) => name)).not.toContain('vitest')
  expect(text).not.toMatch(/timestamp|serialNumber|tarball/)
  expect(text.match(/https?:[^"]+/g)).toEqual(['http://cyclonedx.org/schema/bom-1.5.schema.json'])
})
