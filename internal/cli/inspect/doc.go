// Package inspect finds out from the keys in Redis what a name is of, and shows it. It
// has the command inspect, and makes ls, info and rm for all kinds of objects.
package inspect
