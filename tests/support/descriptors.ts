import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'

/** How many files and connections a process has open. */
export const openDescriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Lets a process, and what it starts from now on, open no more than so many files and connections. */
export function limitDescriptors(pid: number, most: number): void {
  execFileSync('prlimit', ['--pid', String(pid), `--nofile=${most}:`], { stdio: 'pipe' })
}
