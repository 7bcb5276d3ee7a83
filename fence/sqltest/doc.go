// Package sqltest tries what fence.SQL says against a database. It is a module of
// its own, so that nobody who uses the library has a database in its own module's
// graph.
package sqltest
