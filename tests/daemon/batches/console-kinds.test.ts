import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { kindFacts } from '../../../src/console/screens/batches/kind-facts.ts'
import { kindOf } from '../../../src/daemon/domain/batches/batches.ts'

const folder = join(import.meta.dirname, '../../../src/daemon/domain/batches/kinds')

/** The names of all kinds of batches that modules define. */
async function kindNames(): Promise<string[]> {
  const modules: Record<string, unknown>[] = await Promise.all(
    readdirSync(folder).map((file) => import(join(folder, file))),
  )
  return modules
    .flatMap((module) => Object.values(module))
    .flatMap((value) => {
      const names: unknown = typeof value === 'object' && value !== null ? Reflect.get(value, 'names') : []
      return Array.isArray(names) ? names.map(String) : []
    })
    .sort()
}

test('the console knows which scope each kind of batch takes, and whether it can be undone', async () => {
  const names = await kindNames()
  expect(names.length).toBeGreaterThan(10)
  const facts = names.map((name) => {
    const { scope, undo } = kindOf(name)
    return [name, { scope, ...('refusal' in undo ? { isFinal: true } : {}) }]
  })
  expect(kindFacts).toEqual(Object.fromEntries(facts))
})
