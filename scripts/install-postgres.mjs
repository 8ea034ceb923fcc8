// Sees to it that the tests on PostgreSQL can run.
import { installPackage } from './install-package.mjs'
import { hasPostgres } from './test-tools.mjs'

installPackage('postgresql', {
  whatFor: 'The tests on PostgreSQL',
  chosen: ['TAPCHIP_TEST_POSTGRES_BIN', process.env.TAPCHIP_TEST_POSTGRES_BIN],
  works: hasPostgres,
})
