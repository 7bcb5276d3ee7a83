// Package repo has the tests of the repository as a whole: which package may import which, what is exported, what the pages
// say, how texts are worded, and how tests may judge time. They read files and run no server.
//
// `make test` runs them without the race detector: they share nothing between goroutines, and take six times as long with it.
package repo
