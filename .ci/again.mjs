// Runs the files that failed in a suite once more, on a machine that does nothing else, and names those that pass only
// then: such a test is to be mended, but holds nothing back. `node .ci/again.mjs REPORT COMMAND…`
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

/** More of them are no accident. */
const maxFiles = 3

const [report, command, ...args] = process.argv.slice(2)
const read = (path) => JSON.parse(readFileSync(path, 'utf8'))
const first = read(report)
const failed = first.testResults.filter(({ status }) => status !== 'passed')
const files = [...new Set(failed.map(({ name }) => relative(process.cwd(), name)))]
if (files.length === 0 || files.length > maxFiles) process.exit(1)

console.log(`\nOnce more, alone: ${files.join(', ')}`)
const json = `${report}.again`
const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${json}`]
const { status } = spawnSync(command, [...args, '--', ...files, ...reporters], { stdio: 'inherit' })
if (status !== 0) process.exit(status ?? 1)

const again = read(json)
const count = (results, wanted) =>
  results.flatMap(({ assertionResults }) => assertionResults).filter((one) => one.status === wanted).length
const kept = first.testResults.filter((one) => !failed.includes(one))
writeFileSync(
  report,
  JSON.stringify({
    ...first,
    numPassedTests: count(kept, 'passed') + again.numPassedTests,
    numFailedTests: 0,
    numPendingTests: first.numPendingTests + again.numPendingTests,
  }),
)
const names = failed.flatMap(({ assertionResults }) =>
  assertionResults.filter((one) => one.status === 'failed').map(({ fullName }) => fullName),
)
console.log(`\nPassed only when run again, mend it:\n${(names.length > 0 ? names : files).join('\n')}`)
