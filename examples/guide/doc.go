// Package guide has the programs of docs/guide as examples, which are compiled and run.
package guide
