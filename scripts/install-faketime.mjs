// Sees to it that the tests with a clock that jumps can run.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { installPackage } from './install-package.mjs'

/** Where tests/support/fake-time.ts looks. */
const chosen = process.env.TAPCHIP_TEST_FAKETIME
const library = chosen
  ? [chosen]
  : ['x86_64', 'aarch64'].map((machine) =>
      join('/usr/lib', `${machine}-linux-gnu`, 'faketime/libfaketimeMT.so.1'),
    )

installPackage('libfaketime', {
  whatFor: 'The tests with a clock that jumps',
  chosen: ['TAPCHIP_TEST_FAKETIME', chosen],
  works: () => library.some((path) => existsSync(path)),
})
