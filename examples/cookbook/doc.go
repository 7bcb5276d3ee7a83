// Package cookbook has the programs of docs/cookbook.md as examples, which are compiled and run.
package cookbook
