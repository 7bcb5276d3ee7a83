// Package synchronizers has the commands of semaphores, permits, latches and barriers:
// sem, permit, latch and barrier.
package synchronizers
