// Package locks has the commands of locks and elections: lock, force-unlock, elect,
// observe and election.
package locks
