// Package queues has the commands of queues whose elements are not leased, below queue.
package queues
