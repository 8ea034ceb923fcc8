// Sees to it that the tests of the service can run. They use the programs of systemd; it does not have to run.
import { installPackage } from './install-package.mjs'
import { hasSystemd } from './test-tools.mjs'

installPackage('systemd', { whatFor: 'The tests of the service', works: hasSystemd })
