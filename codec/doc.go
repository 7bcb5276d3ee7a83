// Package codec turns keys and values into the bytes that Redis keeps, the same
// ones that Java's Redisson writes with a codec of its own.
package codec
