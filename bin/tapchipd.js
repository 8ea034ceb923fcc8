#!/usr/bin/env node
import '../dist/tapchipd.cjs'
