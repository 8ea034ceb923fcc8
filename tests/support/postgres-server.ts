import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../scripts/postgres-server.mjs'
import { auditSeal } from '../../src/daemon/store/audit/audit-head.ts'
import { SecretBox } from '../../src/daemon/store/data-dir/secret-box.ts'
import { migratePostgres } from '../../src/daemon/store/database/open.ts'
import { onServer, testDataKey } from './postgres.ts'

/** One server for all tests; each daemon has a database of its own, a copy of an empty one that is migrated. */
export default async function setup(project: TestProject) {
  const settings = process.env.TAPCHIP_TEST_ISOLATION
    ? { default_transaction_isolation: process.env.TAPCHIP_TEST_ISOLATION }
    : {}
  const server = await startPostgres({ settings })
  // Of this project's workers: others have their tests on SQLite.
  project.config.env = { ...project.config.env, TAPCHIP_TEST_POSTGRES: server.url }
  try {
    await onServer((client) => client.query('create database tapchip_empty'), 'postgres', server.url)
    await migratePostgres(
      `${server.url}/tapchip_empty`,
      auditSeal(new SecretBox(Buffer.from(testDataKey, 'hex'))),
    )
  } catch (error) {
    await server.stop()
    throw error
  }
  return () => server.stop()
}
