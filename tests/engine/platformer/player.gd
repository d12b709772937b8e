extends CharacterBody2D
## Runs and jumps; with two mistakes, one here and one in the scene, for a client to find.

signal fell

const SPEED: float = 200.0
const JUMP: float = 360.0

@export var gravity: float = 980.0


func _physics_process(delta: float) -> void:
	velocity.x = Input.get_axis("ui_left", "ui_right") * SPEED
	velocity.y += gravity * delta
	if is_on_floor() and Input.is_action_just_pressed("ui_accept"):
		velocity.y = JUMP
	move_and_slide()
	if position.y > 2000.0:
		fell.emit()
		position = Vector2(100, 100)
		velocity = Vector2.ZERO
