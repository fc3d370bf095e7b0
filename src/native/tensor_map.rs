//! Tensor maps as a GPU reads them: the driver writes them.

use cudarc::driver::sys::{
    self, CUtensorMap, CUtensorMapDataType_enum as DataType,
    CUtensorMapFloatOOBfill_enum as FloatFill, CUtensorMapInterleave_enum as Interleave,
    CUtensorMapL2promotion_enum as Promotion, CUtensorMapSwizzle_enum as DriverSwizzle,
};

use super::device::failed;
use crate::config::kernel::{OobFill, Scalar, Swizzle, TENSOR_RANK};
use crate::error::{Error, Result};
use crate::workload::{TENSOR_MAP_BYTES, TensorMap};

/// CUDA 12.0, as the driver writes it.
const FIRST_VERSION: i32 = 12000;

/// The tensor map of which the tensor lies at `address` on the GPU.
///
/// # Errors
/// What the driver does not take, and a driver or a GPU that knows none.
pub fn encode(map: &TensorMap, address: u64) -> Result<[u8; TENSOR_MAP_BYTES]> {
    let mut version = 0;
    // SAFETY: the pointer is to a live integer.
    let asked = unsafe { sys::cuDriverGetVersion(&mut version) };
    asked.result().map_err(|cause| failed("the driver does not say which it is", cause))?;
    if version < FIRST_VERSION {
        return Err(Error::run("the CUDA driver knows no tensor maps")
            .hint("those of CUDA 12.0 and later do"));
    }
    let mut sizes = [0; TENSOR_RANK];
    let mut strides = [0; TENSOR_RANK];
    let (mut windows, mut steps) = ([0; TENSOR_RANK], [0; TENSOR_RANK]);
    for (place, axis) in map.axes.iter().enumerate() {
        (sizes[place], strides[place]) = (axis.size, axis.stride);
        (windows[place], steps[place]) = (axis.window.into(), axis.step.into());
    }
    let mut encoded = CUtensorMap { opaque: [0; TENSOR_MAP_BYTES / 8] };
    // SAFETY: the driver reads as many numbers of each list as the tensor has dimensions, but one stride less: that of the first is
    // left out. The address is only written down.
    let result = unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut encoded,
            data_type(map.element),
            map.rank as u32,
            address as *mut _,
            sizes.as_ptr(),
            strides[1..].as_ptr(),
            windows.as_ptr(),
            steps.as_ptr(),
            Interleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            match map.swizzle {
                Swizzle::None => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
                Swizzle::B32 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_32B,
                Swizzle::B64 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_64B,
                Swizzle::B128 => DriverSwizzle::CU_TENSOR_MAP_SWIZZLE_128B,
            },
            Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
            match map.oob_fill {
                OobFill::Zero => FloatFill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
                OobFill::Nan => FloatFill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
            },
        )
    };
    result.result().map_err(|cause| failed("a tensor map", cause))?;
    Ok(bytemuck::cast(encoded.opaque))
}

/// What the driver calls elements. Of 8 and 16 bits it knows none with a sign.
fn data_type(element: Scalar) -> DataType {
    match element {
        Scalar::I8 | Scalar::U8 | Scalar::E4M3 | Scalar::E5M2 => {
            DataType::CU_TENSOR_MAP_DATA_TYPE_UINT8
        }
        Scalar::I16 | Scalar::U16 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT16,
        Scalar::U32 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT32,
        Scalar::I32 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT32,
        Scalar::U64 => DataType::CU_TENSOR_MAP_DATA_TYPE_UINT64,
        Scalar::I64 => DataType::CU_TENSOR_MAP_DATA_TYPE_INT64,
        Scalar::F16 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Scalar::BF16 => DataType::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Scalar::F32 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Scalar::F64 => DataType::CU_TENSOR_MAP_DATA_TYPE_FLOAT64,
    }
}
