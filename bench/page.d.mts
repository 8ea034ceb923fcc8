import type { Report } from './lib/results.mjs'

export function pageWith(text: string, report: Report): string
export function merged(before: Report | undefined, after: Report): Report
